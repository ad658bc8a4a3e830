select r.id as "id!", r.received_at as "received_at!", r.source as "source!", r.event_type as "event_type!",
       r.delivery_id as "delivery_id!", r.flags as "flags!",
       (select coalesce(sum(1 + a.repeats), 0) from oncehook.arrivals a where a.receipt_id = r.id) as "later_arrivals!",
       array(select d.state from oncehook.deliveries d where d.receipt_id = r.id order by d.id) as "states!"
from oncehook.receipts r
where ($1::uuid is null or r.id < $1)
  and ($2::text is null or r.source = $2)
  and ($3::text is null or r.event_type = $3 or starts_with(r.event_type, $3 || '.'))
  and (($4::text is null and $5::text is null)
       or exists (select from oncehook.deliveries d
                  where d.receipt_id = r.id and ($4::text is null or d.state = $4) and ($5::text is null or d.route = $5)))
order by r.id desc
limit $6
