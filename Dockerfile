# syntax=docker/dockerfile:1
# Oncehook in one image. Alone, it runs an embedded PostgreSQL in the volume; with DATABASE_URL it uses yours:
#
#   docker run -p 8080:8080 -v oncehook:/var/lib/oncehook oncehook
#   docker run -p 8080:8080 -v oncehook:/var/lib/oncehook -e DATABASE_URL=postgres://… oncehook

FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --profile dist --locked --bin oncehook \
    && cp target/dist/oncehook /oncehook

FROM debian:bookworm-slim
# The server's binaries only: Debian's own cluster would never be used.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates postgresql-common tini \
    && sed -ri 's/^#?(create_main_cluster) .*$/\1 = false/' /etc/postgresql-common/createcluster.conf \
    && apt-get install --yes --no-install-recommends postgresql-15 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 oncehook \
    && useradd --system --uid 10001 --gid oncehook --home-dir /var/lib/oncehook --shell /usr/sbin/nologin oncehook \
    && install --directory --owner=oncehook --group=oncehook --mode=0700 /var/lib/oncehook
COPY --from=build /oncehook /usr/local/bin/oncehook
COPY config/oncehook.toml /etc/oncehook/oncehook.toml

ENV ONCEHOOK_DATA_DIR=/var/lib/oncehook
WORKDIR /var/lib/oncehook
USER oncehook
VOLUME /var/lib/oncehook
EXPOSE 8080
# SIGTERM stops taking requests, lets running deliveries finish, and stops PostgreSQL.
STOPSIGNAL SIGTERM
# The first start makes a cluster, and a start after a crash recovers one.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["oncehook", "health"]
# tini buries what PostgreSQL leaves behind when it is killed; process 1 must.
ENTRYPOINT ["/usr/bin/tini", "--", "oncehook"]
CMD ["serve"]
