with incoming as (
    select *
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
                $9::text[], $10::timestamptz[], $11::bytea[], $12::bytea[], $13::text[], $14::timestamptz[], $15::text[],
                $16::text[], $17::bytea[], $18::bytea[], $28::text[], $29::text[], $30::text[], $31::text[], $32::bool[],
                $33::text[])
         with ordinality
         as i (id, source, delivery_id, hook_scope, hook_id, event_type, ordering_key, event_time, event_time_path,
               received_at, body_digest, normalised_digest, secret_fingerprint, signed_at, remote_address, flags, headers,
               body, version, version_scale, version_from, version_to, chain_first, replay_guard, place)
),
-- Events that were seen before are left out here, so that they open no lanes; a race is settled by the constraint below.
unheard as (
    select i.*
    from incoming i
    -- A lookup for each row, by its form and not by the planner's choice: a plan that was made while the table was small would
    -- go on reading all of it.
    where (select r.id from oncehook.receipts r
           where r.source = i.source and r.delivery_id = i.delivery_id and r.hook_scope = i.hook_scope limit 1) is null
),
-- The same bytes under another id, stored before or earlier in this batch.
suspected as (
    select u.id, coalesce((select r.id from oncehook.receipts r
                           where r.source = u.source and r.body_digest = u.body_digest and r.is_watched
                             and r.delivery_id <> u.delivery_id limit 1),
                          case when first_value(u.delivery_id) over same_bytes <> u.delivery_id
                               then first_value(u.id) over same_bytes end) as replay_of
    from unheard u
    where u.replay_guard <> 'off'
    window same_bytes as (partition by u.source, u.body_digest order by u.place)
),
unseen as (
    select u.*, s.replay_of, s.replay_of is not null and u.replay_guard = 'hold' as is_held
    from unheard u left join suspected s on s.id = u.id
    where s.replay_of is null or u.replay_guard <> 'reject'
),
planned as (
    select p.*
    from unnest($19::uuid[], $20::uuid[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[],
                $26::bool[], $27::float8[])
         with ordinality
         as p (receipt_id, delivery, route, destination, ordering_key, job_id, delivery_text, by_event,
               hold_seconds, place)
    join unseen u on u.id = p.receipt_id and not u.is_held
),
heads as (
    select distinct on (route, ordering_key) route, ordering_key, job_id
    from planned
    where ordering_key is not null
    order by route, ordering_key, place
),
-- Lanes first, sorted: the conflict takes the row lock of an open lane and writes nothing; only new lanes are returned.
opened as (
    insert into oncehook.lanes (route, ordering_key, job_id)
    select route, ordering_key, job_id
    from heads
    order by route, ordering_key
    on conflict (route, ordering_key) do update set job_id = excluded.job_id where false
    returning route, ordering_key, job_id
),
stored as (
    insert into oncehook.receipts (id, source, delivery_id, hook_scope, hook_id, event_type, ordering_key, event_time,
                                   event_time_path, received_at, body_digest, normalised_digest, body_bytes,
                                   secret_fingerprint, signed_at, remote_address, flags, version, version_scale, version_from,
                                   version_to, chain_first, is_watched, replay_of, held_since)
    select id, source, delivery_id, hook_scope, hook_id, event_type, ordering_key, event_time, event_time_path, received_at,
           body_digest, normalised_digest, octet_length(body), secret_fingerprint, signed_at, remote_address,
           case when flags = '' then '{}' else string_to_array(flags, e'\x1f') end
           || case when replay_of is null then '{}'::text[] else '{suspected_replay}' end
           || case when is_held then array['held: nothing is delivered until an operator releases it'] else '{}' end,
           version::bigint[], version_scale, version_from, version_to, chain_first,
           replay_guard <> 'off', replay_of, case when is_held then oncehook.now() end
    from unseen
    where (select count(*) from opened) >= 0  -- the lanes are locked before the first receipt
    order by source, delivery_id, hook_scope, place
    on conflict on constraint receipts_identity do nothing
    returning id, held_since
),
kept as (
    insert into oncehook.payloads (receipt_id, headers, body)
    select u.id, u.headers, u.body
    from unseen u join stored s on s.id = u.id
),
-- The sequence is allotted here, in the order of the batch, while the lanes are locked.
asked as (
    insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, job_id, state, by_event, place, due_at)
    select p.delivery, p.receipt_id, p.route, p.destination, p.ordering_key,
           case when p.ordering_key is null then p.job_id end,
           case when p.ordering_key is null or o.job_id is not null then 'queued' else 'waiting' end,
           p.by_event,
           case when p.by_event then oncehook.place_of(u.event_time, u.received_at, u.version::bigint[]) else '{}' end,
           oncehook.now() + make_interval(secs => p.hold_seconds)
    from planned p
    join unseen u on u.id = p.receipt_id
    join stored s on s.id = p.receipt_id
    left join opened o on o.job_id = p.job_id
    order by p.place
),
rung as (
    insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
    select j.job_id, 'oncehook', convert_to(j.work::text, 'UTF8'), 'Pending', 0, 1000000,
           oncehook.now() - interval '1 second', 0
    from (select job_id, json_build_object('v', 1, 'route', route, 'ordering_key', ordering_key) as work
          from opened
          union all
          select p.job_id, json_build_object('v', 1, 'delivery', p.delivery_text)
          from planned p join stored s on s.id = p.receipt_id
          where p.ordering_key is null) j
)
select id as "id!", null::uuid as rejected_for, held_since is not null as "is_held!" from stored
union all
select s.id, s.replay_of, false from suspected s join unheard u on u.id = s.id
where s.replay_of is not null and u.replay_guard = 'reject'
