-- The job queue's own tables (schema apalis, made by apalis-postgres 1.0.0), as Oncehook needs them.
-- tests/it/migrations.rs holds what we rely on there: signature, columns, names of states.

-- The fetch as apalis ships it joins with a set of unknown size, for which the planner reads all of the table, so that each
-- fetch gets slower as the backlog grows. An array of ids goes by the primary key. The order is made total by the id, and
-- the clock is ours.
create or replace function apalis.get_jobs(worker_id text, v_job_type text, v_job_count integer default 5)
returns setof apalis.jobs language sql volatile as $$
    update apalis.jobs j
    set status = 'Queued', lock_by = worker_id, lock_at = oncehook.now()
    where j.id = any (array(
        select id
        from apalis.jobs
        where (status = 'Pending' or (status = 'Failed' and attempts < max_attempts))
          and run_at < oncehook.now()
          and job_type = v_job_type
        order by priority desc, run_at asc, id
        limit v_job_count
        for update skip locked))
    returning j.*;
$$;

-- Its index: apalis' own one ends before the id, so that jobs of one second, of which there may be thousands, would be
-- sorted by each fetch (measured with 20 000: 42 ms against 0.1 ms).
drop index if exists apalis.idx_apalis_jobs_fetch_partial;
create index jobs_due on apalis.jobs (job_type, priority desc, run_at, id)
    where status = 'Pending' or (status = 'Failed' and attempts < max_attempts);

-- NOTIFY takes one lock for the whole cluster at commit, so that commits queue up (measured: four times fewer a second).
-- Workers are rung by the recorder in the same process, and look by themselves a few times a second.
alter table apalis.jobs disable trigger notify_workers;

-- Each of these says again what another index says: the primary key, idx_apalis_jobs_lock_by,
-- idx_apalis_workers_worker_type, idx_apalis_workers_last_seen. (unique_worker_id stays: a foreign key hangs on it.)
drop index if exists apalis.unique_job_id;
drop index if exists apalis.lidx;
drop index if exists apalis.wtidx;
drop index if exists apalis.lsidx;

-- Every heart-beat looks for jobs of dead workers.
create index jobs_under_way on apalis.jobs (lock_by) where status = 'Running' or status = 'Queued';

-- Rows of these tables live for seconds. At the default of 20 % dead rows a backlog of a million leaves 200 000 of them in
-- the way of every fetch.
alter table apalis.jobs set
    (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
alter table oncehook.lanes set
    (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
alter table oncehook.deliveries set
    (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
