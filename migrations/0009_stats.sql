-- Figures for the overview, uses of secrets, health of destinations: what each process counts, and adds here every 10 seconds.

-- One row for each minute, and one for each hour, in which something was counted of a source or destination. Names come from
-- the configuration; requests to sources that do not exist share the name ''. So a month of a busy source is 45,000 rows.
create table oncehook.figures (
    grain    text not null check (grain in ('minute', 'hour')),
    began_at timestamptz not null,
    kind     text not null check (kind in ('source', 'destination')),
    name     text not null,
    counts   jsonb not null,  -- {"accepted": 3, "duplicate": 1}
    latency  jsonb not null,  -- {"40": 4}: bucket of src/figures/histogram.rs, and how many times fell into it
    primary key (grain, began_at, kind, name)
) with (fillfactor = 50);     -- Each row is written up to six times a minute, and never changes its key.
alter table oncehook.figures set (autovacuum_vacuum_scale_factor = 0.05);

-- The sums of two such objects.
create function oncehook.add_counts(one jsonb, other jsonb) returns jsonb language sql immutable parallel safe as $$
    select coalesce(jsonb_object_agg(key, total), '{}')
    from (select key, sum(value::bigint) as total
          from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) counts
          group by key) totals
$$;

-- The last batch of each process that was added, so that one whose outcome was unknown is not added twice.
create table oncehook.flushes (
    process    text primary key,
    number     bigint not null,
    flushed_at timestamptz not null default oncehook.now()
) with (fillfactor = 50);

-- Which secrets verify requests, by fingerprint: the old one of two is safe to drop when nobody uses it any more.
create table oncehook.secret_uses (
    source        text not null,
    fingerprint   text not null,
    first_used_at timestamptz not null,
    last_used_at  timestamptz not null,
    uses          bigint not null,
    primary key (source, fingerprint)
) with (fillfactor = 50);

-- How attempts at destinations go.
create table oncehook.destination_health (
    destination       text primary key,
    last_success_at   timestamptz,
    last_failure_at   timestamptz,
    last_failure      text,
    failures_in_a_row bigint not null
) with (fillfactor = 50);

-- Dead letters and blocked lanes are few, and counted often. No other statement touches these indexes.
create index deliveries_dead_by_route on oncehook.deliveries (route) where state = 'dead';
create index deliveries_dead_by_destination on oncehook.deliveries (destination) where state = 'dead';
create index lanes_that_are_blocked on oncehook.lanes (blocked_since) where blocked_by is not null;

-- Made by 0006; here for a database that comes from before it.
alter table oncehook.receipts add column if not exists held_since timestamptz;
create index if not exists receipts_held on oncehook.receipts (held_since) where held_since is not null;
