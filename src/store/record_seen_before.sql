with incoming as (
    select *, row_number() over (partition by receipt_id order by place) as nth,
           count(*) over (partition by receipt_id) as total
    from unnest($1::uuid[], $2::bool[], $3::timestamptz[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::text[],
                $9::text[], $10::bytea[], $11::bytea[]) with ordinality
         as i (receipt_id, is_conflict, arrived_at, hook_id, body_digest, normalised_digest, secret_fingerprint,
               remote_address, event_type, headers, body, place)
),
noted_before as (
    select a.receipt_id, count(*) as arrivals, max(a.id) as last_id
    from oncehook.arrivals a
    where a.receipt_id in (select receipt_id from incoming)
    group by a.receipt_id
),
kept as (
    insert into oncehook.conflicts (receipt_id, arrived_at, hook_id, event_type, body_digest, normalised_digest,
                                    secret_fingerprint, headers, body)
    select receipt_id, arrived_at, hook_id, event_type, body_digest, normalised_digest, secret_fingerprint, headers, body
    from incoming
    where is_conflict
    order by receipt_id, normalised_digest, place
    on conflict on constraint conflicts_once do nothing
),
-- The row that reaches the limit counts those of this batch that have no place any more.
noted as (
    insert into oncehook.arrivals (receipt_id, kind, arrived_at, hook_id, body_digest, secret_fingerprint, remote_address,
                                   repeats)
    select i.receipt_id, case when i.is_conflict then 'conflict' else 'duplicate' end, i.arrived_at, i.hook_id,
           i.body_digest, i.secret_fingerprint, i.remote_address,
           case when coalesce(n.arrivals, 0) + i.nth = $12 then i.total - i.nth else 0 end
    from incoming i
    left join noted_before n on n.receipt_id = i.receipt_id
    where coalesce(n.arrivals, 0) + i.nth <= $12
    order by i.place
),
-- Where the limit was reached before, the last row counts. Its lock is taken in the order of the ids, so that two recorders
-- cannot deadlock.
full_receipts as (
    select a.id, (select count(*) from incoming i where i.receipt_id = n.receipt_id) as more
    from noted_before n
    join oncehook.arrivals a on a.id = n.last_id
    where n.arrivals >= $12
    order by a.id
    for update of a
)
update oncehook.arrivals a
set repeats = a.repeats + f.more
from full_receipts f
where a.id = f.id
