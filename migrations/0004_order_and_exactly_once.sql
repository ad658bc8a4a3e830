-- Order by the provider's own event time, blocked lanes, limits, compensation, revival, the outbox.

-- What the provider's table says about an event's place in its subject's history. docs/ordering.md explains each.
alter table oncehook.receipts
    add column version       bigint[],  -- compared from the left, and only with versions of the same scale
    add column version_scale text,      -- what the numbers are, such as "workflow_run.run_attempt, status, updated_at"
    add column version_from  text,      -- the state before it, where events form a chain (push: before)
    add column version_to    text,      -- the state after it (push: after)
    add column chain_first   boolean not null default false; -- the chain decides before the numbers do

alter table oncehook.deliveries
    add column by_event      boolean not null default false,   -- order = "event" when it was recorded
    add column place         bigint[] not null default '{}',   -- goes before seq; emptied when it begins, so that it stays the head
    add column stale_against uuid,                              -- the receipt that its lane had applied and that is newer
    add column slot_at       timestamptz,                       -- the time that a destination's rate limit has given it
    add column purpose       text not null default 'deliver' check (purpose in ('deliver', 'compensate')),
    drop constraint deliveries_claim,
    -- Invariant: one subscriber sees one event once, and one compensation for it.
    add constraint deliveries_claim unique (route, receipt_id, purpose);
drop index oncehook.deliveries_of_lane;
create index deliveries_of_lane on oncehook.deliveries (route, ordering_key, place, seq) where finished_at is null;

-- A dead delivery of a route with on_dead = "block" holds its lane. Such a lane's row stays, without a job.
alter table oncehook.lanes
    add column blocked_by    uuid,
    add column blocked_since timestamptz,
    add constraint lanes_blocked check ((blocked_by is null) = (blocked_since is null));

-- The newest version that a lane has applied. Outlives the lane's row.
create table oncehook.applied_versions (
    route         text not null,
    ordering_key  text not null,
    receipt_id    uuid not null,
    event_time    timestamptz,
    version       bigint[],
    version_scale text,
    version_from  text,
    version_to    text,
    applied_at    timestamptz not null default oncehook.now(),
    primary key (route, ordering_key)
) with (fillfactor = 70);

-- Where deliveries of a route or to a destination with limits get in line.
create table oncehook.paces (
    kind         text not null check (kind in ('destination', 'route')),
    name         text not null,
    rate_free_at timestamptz not null default '-infinity',  -- the next slot that nobody has
    line_free_at timestamptz not null default '-infinity',  -- when the next in line may ask again
    primary key (kind, name)
) with (fillfactor = 50);

-- What SQL functions and Rust handlers want published, written in the transaction of their effect.
create table oncehook.outbox (
    id           bigint generated always as identity primary key,
    event_type   text not null,
    ordering_key text,
    payload      jsonb not null,
    created_at   timestamptz not null default oncehook.now()
);

-- Whether an event is older than what its lane has applied. The chain decides where one is the other's direct successor
-- (and not both at once: a state may come back); numbers decide within one scale; otherwise the event times do. Equal is
-- never stale, and what cannot be compared is not.
create function oncehook.is_stale(
    its oncehook.applied_versions, its_chain_first boolean, applied oncehook.applied_versions
) returns boolean language plpgsql immutable as $$
declare
    follows boolean := coalesce(its.version_scale = applied.version_scale and its.version_from = applied.version_to, false);
    precedes boolean := coalesce(its.version_scale = applied.version_scale and its.version_to = applied.version_from, false);
    chain_says boolean := case when follows <> precedes then precedes end;
    numbers_say boolean;
begin
    if its.version_scale = applied.version_scale and its.version is not null and applied.version is not null then
        numbers_say := case when its.version <> applied.version then its.version < applied.version end;
    elsif its.event_time <> applied.event_time then
        numbers_say := its.event_time < applied.event_time;
    end if;
    return coalesce(case when its_chain_first then coalesce(chain_says, numbers_say)
                         else coalesce(numbers_say, chain_says) end, false);
end $$;

-- Where a delivery stands in a lane with order = "event": by the provider's time, or by its arrival if there is none.
create function oncehook.place_of(event_time timestamptz, received_at timestamptz, version bigint[])
returns bigint[] language sql immutable as $$
    select array[(extract(epoch from coalesce(event_time, received_at)) * 1000000)::bigint] || coalesce(version, '{}')
$$;

-- Last words of a delivery that has just died: its lane is blocked and its compensation stands at the head, as its route
-- asks. Locks the lane's row, after the delivery's.
create function oncehook.bury_delivery(dead oncehook.deliveries, last_words jsonb)
returns void language plpgsql volatile as $$
declare
    compensation jsonb := nullif(last_words -> 'compensate', 'null');
begin
    if dead.purpose = 'deliver' and compensation is not null then
        -- With the seq of the dead one it is the next head of the lane. It is run once, however often the delivery dies.
        insert into oncehook.deliveries (id, seq, receipt_id, route, destination, ordering_key, job_id, state, purpose)
        overriding system value
        select (compensation ->> 'delivery')::uuid, dead.seq, dead.receipt_id, dead.route, compensation ->> 'destination',
               dead.ordering_key, case when dead.ordering_key is null then compensation ->> 'job' end, 'queued', 'compensate'
        on conflict on constraint deliveries_claim do nothing;
        if found and dead.ordering_key is null then
            insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
            values (compensation ->> 'job', 'oncehook',
                    convert_to(json_build_object('v', 1, 'delivery', compensation ->> 'text')::text, 'UTF8'),
                    'Pending', 0, 1000000, oncehook.now() - interval '1 second', 0);
        end if;
    end if;
    if dead.purpose = 'deliver' and (last_words ->> 'blocks')::boolean then
        update oncehook.lanes set blocked_by = dead.id, blocked_since = oncehook.now()
        where route = dead.route and ordering_key = dead.ordering_key and blocked_by is null;
    end if;
end $$;

drop function oncehook.settle_delivery;
-- Closes an attempt and moves its delivery on, if the lease still holds. False, and nothing changed, if not.
-- Locks the delivery's row and the attempt's; where it dies the lane's; where it succeeds the lane's applied version.
create function oncehook.settle_delivery(
    its_delivery uuid, its_token integer, its_worker text, new_state text, delay_seconds double precision,
    its_outcome text, its_reason text, its_error text, its_status integer, its_answer bytea, answer_was_cut boolean,
    took_ms integer, last_words jsonb
) returns boolean language plpgsql volatile as $$
declare
    settled oncehook.deliveries;
begin
    update oncehook.deliveries set
        state = new_state, leased_by = null, lease_expires_at = null,
        last_error = its_error,
        due_at = case when new_state = 'retrying' then oncehook.now() + make_interval(secs => delay_seconds) else due_at end,
        -- Work that a shutdown interrupted gets its try back.
        tries = case when new_state = 'queued' then tries - 1 else tries end,
        finished_at = case when new_state in ('succeeded', 'dead') then oncehook.now() end
    where id = its_delivery and state = 'running' and attempts = its_token and leased_by = its_worker
    returning * into settled;
    if not found then
        return false;
    end if;
    update oncehook.attempts set
        finished_at = oncehook.now(), outcome = its_outcome, reason = its_reason, answer_status = its_status,
        answer_body = its_answer, answer_is_cut = answer_was_cut, duration_ms = took_ms
    where delivery = its_delivery and number = its_token;
    if new_state = 'dead' then
        perform oncehook.bury_delivery(settled, last_words);
    elsif new_state = 'succeeded' and settled.by_event and settled.purpose = 'deliver' then
        perform oncehook.note_applied(settled);
    end if;
    return true;
end $$;

-- Notes the version of a delivery that its lane has applied, unless it applied a newer one before.
-- Locks the lane's applied version.
create function oncehook.note_applied(done oncehook.deliveries) returns void language plpgsql volatile as $$
begin
    insert into oncehook.applied_versions as applied
        (route, ordering_key, receipt_id, event_time, version, version_scale, version_from, version_to)
    select done.route, done.ordering_key, r.id, r.event_time, r.version, r.version_scale, r.version_from, r.version_to
    from oncehook.receipts r
    where r.id = done.receipt_id and (r.version is not null or r.event_time is not null)
    on conflict (route, ordering_key) do update set
        receipt_id = excluded.receipt_id, event_time = excluded.event_time, version = excluded.version,
        version_scale = excluded.version_scale, version_from = excluded.version_from, version_to = excluded.version_to,
        applied_at = oncehook.now()
    where not oncehook.is_stale(excluded.*, (select r.chain_first from oncehook.receipts r where r.id = excluded.receipt_id),
                                applied.*);
end $$;

-- Takes a delivery back from a worker whose lease ran out: the attempt is closed as unknown, the crash is counted, and the
-- delivery is queued again or, at crashes_max, dead. Null, and nothing changed, when the lease holds after all.
-- Locks the delivery's row and the attempt's; where it dies the lane's.
create function oncehook.take_back_delivery(its_delivery uuid, its_token integer, crashes_max integer, last_words jsonb)
returns text language plpgsql volatile as $$
declare
    back oncehook.deliveries;
begin
    update oncehook.deliveries set
        crashes = crashes + 1, leased_by = null, lease_expires_at = null,
        state = case when crashes + 1 >= crashes_max then 'dead' else 'queued' end,
        finished_at = case when crashes + 1 >= crashes_max then oncehook.now() end,
        last_error = case when crashes + 1 >= crashes_max
                     then 'crashed worker: ' || crashes + 1 || ' workers died while they held it'
                     else 'the worker died or lost its lease' end
    where id = its_delivery and attempts = its_token and state = 'running' and lease_expires_at <= oncehook.now()
    returning * into back;
    if not found then
        return null;
    end if;
    update oncehook.attempts set
        finished_at = oncehook.now(), outcome = 'unknown', reason = 'the worker died or lost its lease'
    where delivery = back.id and number = back.attempts and finished_at is null;
    if back.state = 'dead' then
        perform oncehook.bury_delivery(back, last_words);
    end if;
    return back.state;
end $$;

-- When may a delivery begin, as far as the limits of its destination and route go? Null: now, and what it takes is taken.
-- limits: {"destinations": {NAME: {"concurrency": N, "every": SECONDS}}, "routes": {NAME: {"concurrency": N}}}, with what has
-- limits and nothing else. Locks the destination's pace, then the route's, in this order always.
create function oncehook.begin_within_limits(head oncehook.deliveries, limits jsonb)
returns timestamptz language plpgsql volatile as $$
declare
    of_destination jsonb := limits -> 'destinations' -> head.destination;
    of_route jsonb := limits -> 'routes' -> head.route;
    every interval := make_interval(secs => (of_destination ->> 'every')::double precision);
    most integer;
    running bigint;
    slot timestamptz;
    its_kind text;
    its_name text;
begin
    for its_kind, its_name, most in
        select * from (values ('destination', head.destination, (of_destination ->> 'concurrency')::integer),
                              ('route', head.route, (of_route ->> 'concurrency')::integer)) l(kind, name, most)
        where l.most is not null
    loop
        insert into oncehook.paces (kind, name) values (its_kind, its_name) on conflict do nothing;
        perform from oncehook.paces p where p.kind = its_kind and p.name = its_name for update;
        -- Deliveries that run are few: as many as all workers together have hands.
        select count(*) into running from oncehook.deliveries d
        where d.state = 'running' and d.lease_expires_at > oncehook.now()
          and case its_kind when 'route' then d.route else d.destination end = its_name;
        if running >= most then
            -- All that wait ask again one after the other, so that a long line does not keep the database busy with asking.
            update oncehook.paces p set line_free_at = greatest(p.line_free_at, oncehook.now() + interval '50 ms')
                                                       + make_interval(secs => greatest(0.01 / most, 0.002))
            where p.kind = its_kind and p.name = its_name
            returning p.line_free_at into slot;
            return slot;
        end if;
    end loop;
    -- A slot is good for a moment; after an outage those that are long over must not all come at once.
    if every is not null and (head.slot_at is null or head.slot_at < oncehook.now() - greatest(every, interval '1 s')) then
        insert into oncehook.paces (kind, name) values ('destination', head.destination) on conflict do nothing;
        update oncehook.paces p set rate_free_at = greatest(p.rate_free_at, oncehook.now()) + every
        where p.kind = 'destination' and p.name = head.destination
        returning p.rate_free_at - every into slot;
        update oncehook.deliveries d set slot_at = slot, due_at = greatest(d.due_at, slot) where d.id = head.id;
        if slot > oncehook.now() then
            return slot;
        end if;
    end if;
    return null;
end $$;

-- Is the head older than what its lane has applied? Gives the receipt that was applied, or null. Locks nothing.
create function oncehook.stale_against(head oncehook.deliveries) returns uuid language sql stable as $$
    select a.receipt_id
    from oncehook.applied_versions a, oncehook.receipts r
    where head.by_event and head.purpose = 'deliver' and a.route = head.route and a.ordering_key = head.ordering_key
      and r.id = head.receipt_id and a.receipt_id <> r.id
      and oncehook.is_stale((head.route, head.ordering_key, r.id, r.event_time, r.version, r.version_scale, r.version_from,
                             r.version_to, r.received_at)::oncehook.applied_versions, r.chain_first, a)
$$;

-- As in 0003, by the new index. (one combined statement would lose a delivery that a recorder committed meanwhile.)
create or replace function oncehook.retire_lane(its_route text, its_key text, its_job text)
returns boolean language plpgsql volatile as $$
begin
    perform from oncehook.lanes
    where route = its_route and ordering_key = its_key and job_id = its_job and blocked_by is null for update;
    if not found then
        return false;
    end if;
    -- The order makes the planner go by the lane's index, see 0003.
    perform from oncehook.deliveries
    where route = its_route and ordering_key = its_key and finished_at is null order by place, seq limit 1;
    if found then
        return false;
    end if;
    delete from oncehook.lanes where route = its_route and ordering_key = its_key;
    delete from apalis.jobs where id = its_job;
    return true;
end $$;

drop function oncehook.next_turn;
-- Whose turn is it in a lane, or is it this lone delivery's (its_delivery)? In the common cases it is dealt with at once:
-- claimed, skipped, or the lane retired. Locks the head's row, waiting for whoever holds it; the lane's only to retire it or
-- to leave it blocked; paces where there are limits.
-- rules: what the configuration says beyond the common case, see begin_within_limits; routes have "skip_stale" too.
create function oncehook.next_turn(
    its_route text, its_key text, its_delivery uuid, its_job text, its_worker text, lease_seconds double precision,
    known_destinations text[], new_attempt uuid, may_run boolean, rules jsonb
) returns table (
    turn text, delivery uuid, token integer, wait_until timestamptz, tries integer, trigger text, route text,
    destination text, ordering_key text, receipt uuid, source text, delivery_id text, event_type text,
    event_time timestamptz, received_at timestamptz, headers bytea, body bytea, is_stale boolean, purpose text
) language plpgsql volatile as $$
#variable_conflict use_column
declare
    head oncehook.deliveries;
    lane oncehook.lanes;
    applied uuid;
    is_empty boolean := true;
begin
    if its_delivery is null then
        select l.* into lane from oncehook.lanes l
        where l.route = its_route and l.ordering_key = its_key and l.job_id = its_job;
        if not found then
            turn := 'fenced';
            return next;
            return;
        end if;
        if may_run then
            -- Never SKIP LOCKED: a second worker would take the lane's second delivery.
            select d.* into head from oncehook.deliveries d
            where d.route = its_route and d.ordering_key = its_key and d.finished_at is null
            order by d.place, d.seq limit 1 for update;
            is_empty := not found;
        end if;
        if lane.blocked_by is not null and (is_empty or head.purpose <> 'compensate') then
            turn := case when oncehook.leave_blocked(its_route, its_key, its_job) then 'blocked' else 'more' end;
        elsif is_empty then
            turn := case when oncehook.retire_lane(its_route, its_key, its_job) then 'retired' else 'more' end;
        end if;
    else
        select d.* into head from oncehook.deliveries d
        where d.id = its_delivery and d.job_id = its_job and d.ordering_key is null and d.finished_at is null for update;
        is_empty := not found;
        if is_empty then
            -- It is finished, or another job's: nothing can be added to it, so that one look is enough.
            delete from apalis.jobs j where j.id = its_job;
            turn := 'retired';
        elsif not may_run then
            turn := 'more';
        end if;
    end if;
    if turn is not null then
        return next;
        return;
    end if;

    delivery := head.id;
    token := head.attempts;
    route := head.route;
    destination := head.destination;
    if head.state = 'running' then
        turn := case when head.lease_expires_at > oncehook.now() then 'wait' else 'lease_over' end;
        wait_until := head.lease_expires_at;
    elsif head.due_at > oncehook.now() then
        turn := 'wait';
        wait_until := head.due_at;
    elsif not head.destination = any (known_destinations) then
        turn := 'unplaced';
    else
        if head.by_event then
            applied := oncehook.stale_against(head);
        end if;
        if applied is not null and (rules -> 'routes' -> head.route ->> 'skip_stale')::boolean then
            update oncehook.deliveries d set state = 'skipped', finished_at = oncehook.now(), stale_against = applied
            where d.id = head.id;
            turn := 'more';
        elsif rules -> 'destinations' ? head.destination or rules -> 'routes' -> head.route ? 'concurrency' then
            wait_until := oncehook.begin_within_limits(head, rules);
            turn := case when wait_until is not null then 'wait' end;
        end if;
    end if;
    if turn is not null then
        return next;
        return;
    end if;

    update oncehook.deliveries d set
        state = 'running', attempts = d.attempts + 1, tries = d.tries + 1, leased_by = its_worker,
        lease_expires_at = oncehook.now() + make_interval(secs => lease_seconds), place = '{}', slot_at = null,
        stale_against = applied
    where d.id = head.id
    returning d.* into head;
    insert into oncehook.attempts (id, delivery, number, trigger, worker)
    values (new_attempt, head.id, head.attempts, head.trigger, its_worker);
    return query
        select 'run', head.id, head.attempts, null::timestamptz, head.tries, head.trigger, head.route, head.destination,
               head.ordering_key, r.id, r.source, r.delivery_id, r.event_type, r.event_time, r.received_at, p.headers, p.body,
               applied is not null, head.purpose
        from (values (1)) one left join oncehook.receipts r on r.id = head.receipt_id
        left join oncehook.payloads p on p.receipt_id = r.id;
end $$;

-- Takes the job of a blocked lane off the queue; the lane's row stays. False if there is a compensation to run, or if the
-- lane has been unblocked: it looks again under the lane's lock, since whoever unblocks it gives it a new job. Locks the lane's row, then the job's.
create function oncehook.leave_blocked(its_route text, its_key text, its_job text)
returns boolean language plpgsql volatile as $$
begin
    perform from oncehook.lanes
    where route = its_route and ordering_key = its_key and job_id = its_job and blocked_by is not null for update;
    if not found then
        return false;
    end if;
    perform from oncehook.deliveries
    where route = its_route and ordering_key = its_key and finished_at is null and purpose = 'compensate' limit 1;
    if found then
        return false;
    end if;
    delete from apalis.jobs where id = its_job;
    return true;
end $$;

-- Puts a job on the queue that is due at once. Locks nothing that exists.
create function oncehook.ring(its_job text, work json) returns void language sql volatile as $$
    insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
    values (its_job, 'oncehook', convert_to(work::text, 'UTF8'), 'Pending', 0, 1000000, oncehook.now() - interval '1 s', 0)
$$;

-- Asks for a finished delivery once more: it gets to the tail of its lane (with order = "event": to its place among those
-- that wait), or back to the head if it blocks the lane. Null, and nothing changed, if its state is none of from_states.
-- Locks the lane's row, then the delivery's.
create function oncehook.revive_delivery(
    its_delivery uuid, its_text text, fresh_job text, its_trigger text, from_states text[]
) returns text language plpgsql volatile as $$
declare
    d oncehook.deliveries;
    lane oncehook.lanes;
    r oncehook.receipts;
    is_head boolean;
begin
    select * into d from oncehook.deliveries where id = its_delivery and state = any (from_states);
    if not found then
        return null;
    end if;
    if d.ordering_key is not null then
        loop
            insert into oncehook.lanes (route, ordering_key, job_id) values (d.route, d.ordering_key, fresh_job)
            on conflict (route, ordering_key) do nothing;
            select * into lane from oncehook.lanes where route = d.route and ordering_key = d.ordering_key for update;
            exit when found; -- otherwise it retired between the two
        end loop;
        is_head := lane.blocked_by = d.id;
    end if;
    select * into r from oncehook.receipts where id = d.receipt_id;
    update oncehook.deliveries set
        state = case when d.ordering_key is null or is_head or lane.job_id = fresh_job then 'queued' else 'waiting' end,
        tries = 0, crashes = 0, trigger = its_trigger, due_at = oncehook.now(), finished_at = null, last_error = null,
        stale_against = null, slot_at = null,
        job_id = case when d.ordering_key is null then fresh_job end,
        seq = case when is_head then seq else nextval('oncehook.deliveries_seq_seq') end,
        place = case when d.by_event and not coalesce(is_head, false)
                     then oncehook.place_of(r.event_time, r.received_at, r.version) else '{}' end
    where id = its_delivery and state = any (from_states)
    returning * into d;
    if not found then
        return null; -- Somebody was faster. A lane that was opened for it is empty, and its job retires it.
    end if;
    if d.ordering_key is null then
        perform oncehook.ring(fresh_job, json_build_object('v', 1, 'delivery', its_text));
    elsif is_head then
        update oncehook.lanes set blocked_by = null, blocked_since = null, job_id = fresh_job
        where route = d.route and ordering_key = d.ordering_key;
        delete from apalis.jobs where id = lane.job_id;
    end if;
    if is_head or lane.job_id = fresh_job then
        perform oncehook.ring(fresh_job, json_build_object('v', 1, 'route', d.route, 'ordering_key', d.ordering_key));
    end if;
    return d.state;
end $$;

-- Lets a blocked lane go on behind its dead delivery, which stays dead. False if it is not blocked.
-- Locks the lane's row, then the old job's.
create function oncehook.unblock_lane(its_route text, its_key text, fresh_job text)
returns boolean language plpgsql volatile as $$
declare
    old_job text;
begin
    select job_id into old_job from oncehook.lanes
    where route = its_route and ordering_key = its_key and blocked_by is not null for update;
    if not found then
        return false;
    end if;
    update oncehook.lanes set blocked_by = null, blocked_since = null, job_id = fresh_job
    where route = its_route and ordering_key = its_key;
    delete from apalis.jobs where id = old_job;
    -- An empty lane is retired by this job.
    perform oncehook.ring(fresh_job, json_build_object('v', 1, 'route', its_route, 'ordering_key', its_key));
    return true;
end $$;
