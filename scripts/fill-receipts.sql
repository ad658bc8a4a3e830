-- {count} receipts from three sources, two deliveries each, as recording and running leave them: for tests and scripts/bench-lists.
-- Receipt n came in n seconds before midnight, so that 1 is the newest, and has the id evt_n.
create temporary table planned as
select n, ('2026-12-03 00:00:00+00'::timestamptz - n * interval '1 s') as at,
       (lpad(to_hex((extract(epoch from '2026-12-03 00:00:00+00'::timestamptz - n * interval '1 s') * 1000)::bigint), 12, '0')
        || substr(md5(n::text), 1, 20))::uuid as receipt,
       case when n % 100 = 0 then 'rare' when n % 3 = 0 then 'stripe' else 'github' end as source,
       case when n % 1000 = 7 then 'pull_request.closed' when n % 4 = 1 then 'pull_request.opened' when n % 4 = 2 then 'issues.opened'
            else 'push' end as event_type,
       'key ' || n % 20000 as key
from generate_series(1, {count}) n;
insert into oncehook.receipts (id, source, delivery_id, event_type, ordering_key, received_at, recorded_at, body_digest,
                               normalised_digest, body_bytes, flags)
select receipt, source, 'evt_' || n, event_type, key, at, at, sha256(n::text::bytea), sha256(n::text::bytea), 60,
       case when n % 1000 = 5 then '{suspected_replay}' when n % 10 = 3 then '{default_lane}' else '{}' end::text[]
from planned order by n desc;
insert into oncehook.payloads (receipt_id, headers, body)
select receipt, 'content-type: application/json',
       convert_to(json_build_object('n', n, 'repository', json_build_object('full_name', 'octo/repo-' || n % 1000))::text, 'UTF8')
from planned order by n desc;
insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, job_id, state, attempts, last_error, created_at, due_at, finished_at)
select (substr(replace(receipt::text, '-', ''), 1, 12) || substr(md5(n || 'd' || k), 1, 20))::uuid, receipt,
       case when k = 2 and n % 500 = 0 then 'rare-route' when k = 2 then 'audit' else 'deploy' end,
       case when k = 2 and n % 500 = 0 then 'archive' when k = 2 then 'auditor' else 'deployer' end,
       case when k = 1 then key end, case when k = 2 then 'job ' || n end,
       case when k = 1 and n % 50 = 0 then 'dead' when k = 1 and n % 100 = 1 then 'waiting' when k = 2 and n % 2000 = 9 then 'retrying'
            else 'succeeded' end, 1,
       case when k = 1 and n % 50 = 0 then 'was answered ' || case when n % 100 = 0 then 503 else 500 end
            || ' with "' || n || '" for request ' || md5(n::text) end, at, at,
       case when k = 1 and n % 100 = 1 or k = 2 and n % 2000 = 9 then null else at + interval '1 s' end
from planned, generate_series(1, 2) k order by n desc, k;
drop table planned;
