-- What operators look for is found by an index, however many receipts there are; and bulks. docs: src/store/receipt_search.rs
-- and src/store/delivery_search.rs say which list walks which index.

-- 0006 has them; said again for whoever applies this file alone.
alter table oncehook.receipts add column if not exists held_since timestamptz;
alter table oncehook.conflicts
    add column if not exists promoted_to uuid,
    add column if not exists promoted_at timestamptz;

-- Both are visible ASCII. Compared by bytes, what begins alike stands together in every database, whatever its locale, so that
-- the identity's index finds the beginning of an id too, and recording pays for no other one.
alter table oncehook.receipts
    alter column delivery_id type text collate "C",
    alter column event_type type text collate "C";

-- Ids begin with the time, so that each of these is in the order of lists. Each costs every accept: hence few, narrow ones,
-- which grow at few places (but for the keys').
create index receipts_by_source on oncehook.receipts (source, id);
create index receipts_by_type on oncehook.receipts (source, event_type, id);
create index receipts_by_key on oncehook.receipts (ordering_key, id) where ordering_key is not null;
create index receipts_flagged on oncehook.receipts (id) where flags <> '{}';

-- Lists of deliveries go by the receipt, then by the delivery: so that the index of the claim serves those of a route, and that
-- of the receipts all of them. Nearly all end as succeeded: those are found by walking.
create index deliveries_by_state on oncehook.deliveries (state, receipt_id, id) where state <> 'succeeded';
create index deliveries_by_destination on oncehook.deliveries (destination, receipt_id);
create index deliveries_by_key on oncehook.deliveries (ordering_key, receipt_id) where ordering_key is not null;

-- An error but for what differs between two of the same: quoted text, ids, hexadecimal and other numbers. A status stays:
-- 500 and 503 are two errors.
create function oncehook.error_shape(error text) returns text language sql immutable parallel safe as $$
    select left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(coalesce(error, ''),
        '"[^"]*"|`[^`]*`|(?<![[:alnum:]])''[^'']*''', '"…"', 'g'),
        '\m((rcp|dlv|att)_[0-9a-z]{26}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\M', '<id>', 'gi'),
        '\m(0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{8,})\M', '<hex>', 'gi'),
        '(?<![0-9])(?!(?<![.:])\m[1-5][0-9][0-9]\M(?![.:]))[0-9]+', '#', 'g'), 300)
$$;

-- Names what dead letters have in common.
create function oncehook.dead_letter_group(route text, destination text, error text)
returns text language sql immutable parallel safe as $$
    select left(md5(route || e'\x1f' || destination || e'\x1f' || oncehook.error_shape(error)), 16)
$$;
create index deliveries_dead_groups on oncehook.deliveries
    (oncehook.dead_letter_group(route, destination, last_error), receipt_id, id) where state = 'dead';

create index lanes_by_age on oncehook.lanes (opened_at, route, ordering_key);
create index lanes_blocked_by_age on oncehook.lanes (opened_at, route, ordering_key) where blocked_by is not null;

-- The same done to many deliveries, by filter. Worked off in steps; what a step has changed and how far it came are committed
-- together.
create table oncehook.bulks (
    id         uuid primary key,
    action     text not null check (action in ('retry', 'replay', 'discard', 'cancel')),
    filter     jsonb not null,
    only_these uuid[] not null default '{}',
    state      text not null default 'running' check (state in ('running', 'done', 'stopped')),
    total      bigint not null,               -- counted when it began: no more are met
    met        bigint not null default 0,
    changed    bigint not null default 0,
    operator   text not null,
    role       text not null,
    via        text not null,
    reason     text,
    after_receipt  uuid,                      -- where the next step begins
    after_delivery uuid,
    began_at   timestamptz not null default oncehook.now(),
    ended_at   timestamptz,
    constraint bulks_ended check ((ended_at is null) = (state = 'running'))
);
create index bulks_running on oncehook.bulks (began_at) where state = 'running';
