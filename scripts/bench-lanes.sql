-- A backlog as recording leaves it: :others deliveries spread over 1,000 lanes, and :hot deliveries in one lane.
set client_min_messages = warning;
begin;
truncate oncehook.receipts, oncehook.payloads, oncehook.deliveries, oncehook.lanes, oncehook.attempts, apalis.jobs cascade;
-- Hot and other deliveries came in mixed. Their ids are in the order of their coming, as real ones are: what came together
-- lies together.
create temporary table planned on commit drop as
    select lpad(to_hex(at), 32, '0')::uuid as receipt, lpad(to_hex(at), 32, '0')::uuid as delivery, n,
           case when n <= :hot then 'hot' else 'lane ' || n % 1000 end as key
    from (select n, row_number() over (order by random()) as at from generate_series(1, :hot + :others) n) mixed
    order by at;
insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest, normalised_digest, body_bytes)
select receipt, 'bench', n::text, 'push', now(), sha256(''), sha256(''), 1024 from planned;
insert into oncehook.payloads (receipt_id, headers, body) select receipt, '', decode(repeat('ab', 1024), 'hex') from planned;
insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state)
select delivery, receipt, 'bench', 'nowhere', key, 'waiting' from planned order by delivery;
insert into oncehook.lanes (route, ordering_key, job_id)
select 'bench', key, '01ARZ3NDEKTSV4RRFF' || lpad(row_number() over (order by random())::text, 8, '0')
from (select distinct key from planned) k;
insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
select job_id, 'oncehook', convert_to(json_build_object('v', 1, 'route', route, 'ordering_key', ordering_key)::text, 'UTF8'),
       'Pending', 0, 1000000, now() - interval '1 s', 0
from oncehook.lanes;
commit;
vacuum analyze;
-- Every round begins with pages that are on disk, however many were written just now.
checkpoint;
