-- The truth of Oncehook. Words as in DESIGN.md section 2. All times are timestamptz.

-- The database's clock, by which leases and schedules are kept. One place, so that tests can move it.
create function oncehook.now() returns timestamptz language sql stable parallel safe as 'select pg_catalog.now()';

-- One event that came in. This row is the identity and outlives the payload.
create table oncehook.receipts (
    id                 uuid primary key,
    source             text not null,
    delivery_id        text not null check (octet_length(delivery_id) between 1 and 255),
    hook_scope         text not null default '',  -- the hook's id where the source keeps hooks apart
    hook_id            text,
    event_type         text not null check (octet_length(event_type) between 1 and 128),
    ordering_key       text check (octet_length(ordering_key) <= 255),
    event_time         timestamptz,
    event_time_path    text,                      -- where in the payload event_time was read
    received_at        timestamptz not null,      -- the last byte of the body had been read, by the node's clock
    recorded_at        timestamptz not null default oncehook.now(),
    body_digest        bytea not null check (octet_length(body_digest) = 32),
    normalised_digest  bytea not null check (octet_length(normalised_digest) = 32),
    body_bytes         integer not null,
    secret_fingerprint text,                      -- null: the source takes unsigned requests
    signed_at          timestamptz,
    remote_address     text,
    flags              text[] not null default '{}',
    -- Invariant: one receipt per event (promise P3).
    constraint receipts_identity unique (source, delivery_id, hook_scope)
);

-- What came in, byte for byte. Kept for a shorter time than the receipt.
create table oncehook.payloads (
    receipt_id uuid primary key,
    headers    bytea not null,                    -- header lines as on the wire, secrets removed
    body       bytea not null
);
-- lz4 costs half of what pglz does; a server built without it keeps its default.
do $$ begin
    alter table oncehook.payloads alter column body set compression lz4;
exception when feature_not_supported then null; end $$;

-- Later requests for a receipt. The first one's facts stand on the receipt itself.
create table oncehook.arrivals (
    id                 bigint generated always as identity primary key,
    receipt_id         uuid not null references oncehook.receipts on delete cascade,
    kind               text not null check (kind in ('duplicate', 'conflict')),
    arrived_at         timestamptz not null,
    hook_id            text,
    body_digest        bytea not null check (octet_length(body_digest) = 32),
    secret_fingerprint text,
    remote_address     text,
    repeats            integer not null default 0 -- later arrivals that were only counted, since the limit was reached
);
create index arrivals_of_receipt on oncehook.arrivals (receipt_id, id);

-- Other payloads that came under the delivery id of a receipt: kept whole, never run (promise P4).
create table oncehook.conflicts (
    id                 bigint generated always as identity primary key,
    receipt_id         uuid not null references oncehook.receipts on delete cascade,
    arrived_at         timestamptz not null,
    hook_id            text,
    event_type         text not null,
    body_digest        bytea not null check (octet_length(body_digest) = 32),
    normalised_digest  bytea not null check (octet_length(normalised_digest) = 32),
    secret_fingerprint text,
    headers            bytea not null,
    body               bytea not null,
    -- Invariant: the same other payload is kept once, however often it comes.
    constraint conflicts_once unique (receipt_id, normalised_digest)
);

-- All deliveries of one (route, ordering key), of which one runs at a time. The row exists exactly while one of them is
-- unfinished, and owns exactly one job on the queue.
create table oncehook.lanes (
    route        text not null,
    ordering_key text not null,
    job_id       text not null,
    opened_at    timestamptz not null default oncehook.now(),
    primary key (route, ordering_key)
) with (fillfactor = 70);

-- One receipt × one route.
create table oncehook.deliveries (
    id               uuid primary key,
    seq              bigint generated always as identity, -- allotted under the lane's row lock: the order within a lane
    receipt_id       uuid not null,
    route            text not null,
    destination      text not null,
    ordering_key     text,                                -- null: order = "none", no lane
    job_id           text,                                -- only without a lane: the job that runs it
    state            text not null check (state in
                     ('waiting', 'queued', 'running', 'retrying', 'succeeded', 'dead', 'skipped', 'cancelled')),
    attempts         integer not null default 0,          -- ever opened; also the fencing token of the running one
    tries            integer not null default 0,          -- of this round: what retry.attempts limits; a replay starts at 0
    crashes          integer not null default 0,          -- workers that died while they held it
    trigger          text not null default 'automatic' check (trigger in ('automatic', 'manual', 'redelivery')),
    due_at           timestamptz not null default oncehook.now(),
    leased_by        text,                                -- the instance and worker that runs it
    lease_expires_at timestamptz,
    last_error       text,
    created_at       timestamptz not null default oncehook.now(),
    finished_at      timestamptz,
    -- Invariant: one subscriber sees one event once.
    constraint deliveries_claim unique (route, receipt_id),
    constraint deliveries_finished check ((finished_at is not null) = (state in ('succeeded', 'dead', 'skipped', 'cancelled'))),
    constraint deliveries_leased check ((leased_by is not null and lease_expires_at is not null) or state <> 'running')
) with (fillfactor = 80);
create index deliveries_of_lane on oncehook.deliveries (route, ordering_key, seq) where finished_at is null;
create index deliveries_of_receipt on oncehook.deliveries (receipt_id);
create index deliveries_running on oncehook.deliveries (lease_expires_at) where state = 'running';
create index deliveries_without_lane on oncehook.deliveries (id) where ordering_key is null and finished_at is null;
create index deliveries_dead on oncehook.deliveries (finished_at) where state = 'dead';

-- One try of a delivery. Opened before anything is sent, closed after.
create table oncehook.attempts (
    id            uuid primary key,
    delivery      uuid not null,
    number        integer not null,
    trigger       text not null check (trigger in ('automatic', 'manual', 'redelivery')),
    worker        text not null,
    started_at    timestamptz not null default oncehook.now(),
    finished_at   timestamptz,
    outcome       text check (outcome in ('succeeded', 'failed', 'rejected', 'unknown')),
    reason        text,
    answer_status integer,
    answer_body   bytea,
    answer_is_cut boolean not null default false,
    duration_ms   integer,
    constraint attempts_number unique (delivery, number),
    constraint attempts_closed check ((finished_at is null) = (outcome is null))
);
