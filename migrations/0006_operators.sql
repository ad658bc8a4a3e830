-- What operators change: pauses, held receipts, promoted conflicts, deliveries called off or planned later; and the audit log.

-- Who changed what, when and why. Written in the transaction of the change.
create table oncehook.audit (
    id       bigint generated always as identity primary key,  -- newest first: this index
    at       timestamptz not null default oncehook.now(),
    operator text not null check (octet_length(operator) between 1 and 255),
    via      text not null check (via in ('api', 'dashboard', 'command_line')),
    action   text not null check (octet_length(action) between 1 and 64),
    subject  text not null check (octet_length(subject) between 1 and 512),
    reason   text check (octet_length(reason) <= 500),
    details  jsonb not null default '{}'
);
create index audit_of_subject on oncehook.audit (subject, id);

create function oncehook.refuse_change() returns trigger language plpgsql as $$ begin
    raise 'rows of %.% are added and never changed', tg_table_schema, tg_table_name;
end $$;
-- Invariant: what was written stays.
create trigger audit_is_append_only before update or delete or truncate on oncehook.audit
    for each statement execute function oncehook.refuse_change();

-- Routes and destinations where nothing begins. Nearly always empty: every turn of a worker looks here.
create table oncehook.pauses (
    kind   text not null check (kind in ('route', 'destination')),
    name   text not null,
    since  timestamptz not null default oncehook.now(),
    by     text not null,
    reason text,
    primary key (kind, name)
);

-- A suspected replay that waits for an operator (replay_guard = "hold"): it has no deliveries until then.
alter table oncehook.receipts add column held_since timestamptz;
create index receipts_held on oncehook.receipts (held_since) where held_since is not null;

-- The receipt that an operator has made of it.
alter table oncehook.conflicts
    add column promoted_to uuid,
    add column promoted_at timestamptz,
    add constraint conflicts_promoted check ((promoted_to is null) = (promoted_at is null));

-- Notes on a delivery for which pause it waits, and gives the time at which to look again, in case that whoever resumes was
-- interrupted before bringing it forward: as long as the pause has lasted, from 30 seconds to 5 minutes, so that many
-- waiting lanes do not keep the database busy with asking. The caller holds the delivery's row.
create function oncehook.wait_for_resume(head oncehook.deliveries) returns timestamptz language plpgsql volatile as $$
declare
    pause oncehook.pauses;
    note text;
begin
    select * into pause from oncehook.pauses p
    where (p.kind, p.name) in (('route', head.route), ('destination', head.destination)) order by p.since limit 1;
    if not found then
        return oncehook.now(); -- It was resumed this moment.
    end if;
    note := left(format('%s %s is paused by %s%s', pause.kind, pause.name, pause.by, ': ' || pause.reason), 500);
    update oncehook.deliveries d set last_error = note where d.id = head.id and d.last_error is distinct from note;
    return oncehook.now() + least(greatest(oncehook.now() - pause.since, interval '30 s'), interval '5 min');
end $$;

-- Whose turn is it in a lane, or is it this lone delivery's (its_delivery)? In the common cases it is dealt with at once:
-- claimed, skipped, or the lane retired. Locks the head's row, waiting for whoever holds it; the lane's only to retire it or
-- to leave it blocked; paces where there are limits.
-- rules: what the configuration says beyond the common case, see begin_within_limits; routes have "skip_stale" too.
-- As in 0004, but for pauses; and in a blocked lane it locks no head but a compensation, since it asks for the lane's lock
-- then, and an operator who cancels takes them the other way round.
create or replace function oncehook.next_turn(
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
        if may_run and lane.blocked_by is not null then
            select d.* into head from oncehook.deliveries d
            where d.route = its_route and d.ordering_key = its_key and d.finished_at is null and d.purpose = 'compensate'
            order by d.place, d.seq limit 1 for update;
            is_empty := not found;
        elsif may_run then
            -- Never SKIP LOCKED: a second worker would take the lane's second delivery.
            select d.* into head from oncehook.deliveries d
            where d.route = its_route and d.ordering_key = its_key and d.finished_at is null
            order by d.place, d.seq limit 1 for update;
            is_empty := not found;
        end if;
        if lane.blocked_by is not null and is_empty then
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
    elsif exists (select from oncehook.pauses p
                  where (p.kind, p.name) in (('route', head.route), ('destination', head.destination))) then
        turn := 'paused';
        wait_until := oncehook.wait_for_resume(head);
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

-- Calls off a delivery that is not running. Gives the state it had; null, and nothing changed, if it runs or is finished.
-- Its lane goes on with the next one at once, or retires. Locks the lane's row, then the delivery's, then the job's.
create function oncehook.cancel_delivery(its_delivery uuid) returns text language plpgsql volatile as $$
declare
    d oncehook.deliveries;
    lane oncehook.lanes;
begin
    select * into d from oncehook.deliveries where id = its_delivery and state in ('waiting', 'queued', 'retrying');
    if not found then
        return null;
    end if;
    if d.ordering_key is not null then
        select * into lane from oncehook.lanes where route = d.route and ordering_key = d.ordering_key for update;
    end if;
    -- Who holds the row is a worker that claims it. It wants no lane after that, and we find that it runs.
    select * into d from oncehook.deliveries
    where id = its_delivery and state in ('waiting', 'queued', 'retrying') for update;
    if not found then
        return null;
    end if;
    update oncehook.deliveries set state = 'cancelled', finished_at = oncehook.now() where id = its_delivery;
    if d.ordering_key is null then
        delete from apalis.jobs where id = d.job_id;
    elsif not oncehook.retire_lane(d.route, d.ordering_key, lane.job_id) then
        -- It may be parked on account of this one.
        update apalis.jobs set run_at = oncehook.now() - interval '1 s'
        where id = lane.job_id and status = 'Pending' and run_at > oncehook.now();
    end if;
    return d.state;
end $$;

-- Takes a delivery off the dead letters; null, and nothing changed, if it is not dead. Gives whether its lane had waited for
-- it, which then goes on. Locks the lane's row, then the delivery's, then the old job's.
create function oncehook.discard_delivery(its_delivery uuid, fresh_job text) returns boolean language plpgsql volatile as $$
declare
    d oncehook.deliveries;
    lane oncehook.lanes;
begin
    select * into d from oncehook.deliveries where id = its_delivery and state = 'dead';
    if not found then
        return null;
    end if;
    if d.ordering_key is not null then
        select * into lane from oncehook.lanes where route = d.route and ordering_key = d.ordering_key for update;
    end if;
    update oncehook.deliveries set state = 'cancelled', finished_at = oncehook.now()
    where id = its_delivery and state = 'dead';
    if not found then
        return null;
    end if;
    if lane.blocked_by = its_delivery then
        perform oncehook.unblock_lane(d.route, d.ordering_key, fresh_job);
        perform oncehook.retire_lane(d.route, d.ordering_key, fresh_job);
        return true;
    end if;
    return false;
end $$;

-- Plans a delivery for a receipt that has been recorded before: at the tail of its lane (with order = "event": at its place
-- among those that wait), as recording does. The caller holds the receipt's row and has seen that there is none of this
-- route. Gives its state. Locks the lane's row.
create function oncehook.plan_delivery(
    its_receipt uuid, its_delivery uuid, its_text text, its_route text, its_destination text, its_key text,
    goes_by_event boolean, fresh_job text
) returns text language plpgsql volatile as $$
declare
    lane oncehook.lanes;
    d oncehook.deliveries;
begin
    if its_key is not null then
        loop
            insert into oncehook.lanes (route, ordering_key, job_id) values (its_route, its_key, fresh_job)
            on conflict (route, ordering_key) do nothing;
            select * into lane from oncehook.lanes where route = its_route and ordering_key = its_key for update;
            exit when found; -- otherwise it retired between the two
        end loop;
    end if;
    insert into oncehook.deliveries
        (id, receipt_id, route, destination, ordering_key, job_id, state, trigger, by_event, place)
    select its_delivery, r.id, its_route, its_destination, its_key, case when its_key is null then fresh_job end,
           case when its_key is null or lane.job_id = fresh_job then 'queued' else 'waiting' end, 'manual', goes_by_event,
           case when goes_by_event then oncehook.place_of(r.event_time, r.received_at, r.version) else '{}' end
    from oncehook.receipts r where r.id = its_receipt
    returning * into strict d;
    if its_key is null then
        perform oncehook.ring(fresh_job, json_build_object('v', 1, 'delivery', its_text));
    elsif lane.job_id = fresh_job then
        perform oncehook.ring(fresh_job, json_build_object('v', 1, 'route', its_route, 'ordering_key', its_key));
    end if;
    return d.state;
end $$;
