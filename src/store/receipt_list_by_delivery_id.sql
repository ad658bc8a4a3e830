-- The identity's index begins with the source, so this hops from source to source along the index (there are few) and
-- looks the delivery id up in each. "offset 0" keeps the planner, which expects 100 sources, from reading the whole table.
with recursive sources as (
    (select r.source from oncehook.receipts r order by r.source limit 1)
    union all
    select (select r.source from oncehook.receipts r where r.source > s.source order by r.source limit 1)
    from sources s where s.source is not null
)
select r.id as "id!", r.received_at as "received_at!", r.source as "source!", r.event_type as "event_type!",
       r.delivery_id as "delivery_id!", r.flags as "flags!",
       (select coalesce(sum(1 + a.repeats), 0) from oncehook.arrivals a where a.receipt_id = r.id) as "later_arrivals!",
       array(select d.state from oncehook.deliveries d where d.receipt_id = r.id order by d.id) as "states!"
from sources s
join lateral (select * from oncehook.receipts r where r.source = s.source and r.delivery_id = $1 offset 0) r on true
where ($2::uuid is null or r.id < $2)
  and ($3::text is null or r.source = $3)
  and ($4::text is null or r.event_type = $4 or starts_with(r.event_type, $4 || '.'))
  and (($5::text is null and $6::text is null)
       or exists (select from oncehook.deliveries d
                  where d.receipt_id = r.id and ($5::text is null or d.state = $5) and ($6::text is null or d.route = $6)))
order by r.id desc
limit $7
