-- A worker's turn in one round trip. Each function is a sequence of statements with a fresh snapshot each (volatile
-- plpgsql at READ COMMITTED), which is what makes looking again under a lock work. src/store/turns.rs calls them and says
-- what they mean; src/run/turn.rs decides everything that is not the common case.

-- Closes an attempt and moves its delivery on, if the lease still holds. False, and nothing changed, if not.
-- Locks the delivery's row and the attempt's.
create function oncehook.settle_delivery(
    its_delivery uuid, its_token integer, its_worker text, new_state text, delay_seconds double precision,
    its_outcome text, its_reason text, its_error text, its_status integer, its_answer bytea, answer_was_cut boolean,
    took_ms integer
) returns boolean language plpgsql volatile as $$
begin
    update oncehook.deliveries set
        state = new_state, leased_by = null, lease_expires_at = null,
        last_error = its_error,
        due_at = case when new_state = 'retrying' then oncehook.now() + make_interval(secs => delay_seconds) else due_at end,
        -- Work that a shutdown interrupted gets its try back.
        tries = case when new_state = 'queued' then tries - 1 else tries end,
        finished_at = case when new_state in ('succeeded', 'dead') then oncehook.now() end
    where id = its_delivery and state = 'running' and attempts = its_token and leased_by = its_worker;
    if not found then
        return false;
    end if;
    update oncehook.attempts set
        finished_at = oncehook.now(), outcome = its_outcome, reason = its_reason, answer_status = its_status,
        answer_body = its_answer, answer_is_cut = answer_was_cut, duration_ms = took_ms
    where delivery = its_delivery and number = its_token;
    return true;
end $$;

-- Deletes a lane and its job if nothing in it is unfinished. The lane's row is locked first, and the look comes after it
-- in a statement of its own: one combined statement would keep the snapshot from before the wait, and lose a delivery that
-- a recorder committed meanwhile. Locks the lane's row, then the job's.
create function oncehook.retire_lane(its_route text, its_key text, its_job text)
returns boolean language plpgsql volatile as $$
begin
    perform from oncehook.lanes where route = its_route and ordering_key = its_key and job_id = its_job for update;
    if not found then
        return false;
    end if;
    -- The order makes the planner go by the lane's index: for a plain "exists" in a lane that was busy when the table was
    -- analysed it expects an early hit, and reads the whole table when there is none.
    perform from oncehook.deliveries
    where route = its_route and ordering_key = its_key and finished_at is null order by seq limit 1;
    if found then
        return false;
    end if;
    delete from oncehook.lanes where route = its_route and ordering_key = its_key;
    delete from apalis.jobs where id = its_job;
    return true;
end $$;

-- Whose turn is it in a lane, or is it this lone delivery's (its_delivery)? In the common cases it is dealt with at once:
-- claimed, or the lane retired. Locks the head's row, waiting for whoever holds it; the lane's only to retire it.
create function oncehook.next_turn(
    its_route text, its_key text, its_delivery uuid, its_job text, its_worker text, lease_seconds double precision,
    known_destinations text[], new_attempt uuid, may_run boolean
) returns table (
    turn text, delivery uuid, token integer, wait_until timestamptz, tries integer, trigger text, route text,
    destination text, ordering_key text, receipt uuid, source text, delivery_id text, event_type text,
    event_time timestamptz, received_at timestamptz, headers bytea, body bytea
) language plpgsql volatile as $$
#variable_conflict use_column
declare
    head oncehook.deliveries;
    is_empty boolean := true;
begin
    if its_delivery is null then
        perform from oncehook.lanes l where l.route = its_route and l.ordering_key = its_key and l.job_id = its_job;
        if not found then
            turn := 'fenced';
            return next;
            return;
        end if;
        if may_run then
            -- Never SKIP LOCKED: a second worker would take the lane's second delivery.
            select d.* into head from oncehook.deliveries d
            where d.route = its_route and d.ordering_key = its_key and d.finished_at is null
            order by d.seq limit 1 for update;
            is_empty := not found;
        end if;
        turn := case when is_empty and oncehook.retire_lane(its_route, its_key, its_job) then 'retired'
                     when is_empty then 'more' end;
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
    destination := head.destination;
    if head.state = 'running' then
        turn := case when head.lease_expires_at > oncehook.now() then 'wait' else 'lease_over' end;
        wait_until := head.lease_expires_at;
    elsif head.due_at > oncehook.now() then
        turn := 'wait';
        wait_until := head.due_at;
    elsif not head.destination = any (known_destinations) then
        turn := 'unplaced';
    end if;
    if turn is not null then
        return next;
        return;
    end if;

    update oncehook.deliveries d set
        state = 'running', attempts = d.attempts + 1, tries = d.tries + 1, leased_by = its_worker,
        lease_expires_at = oncehook.now() + make_interval(secs => lease_seconds)
    where d.id = head.id
    returning d.* into head;
    insert into oncehook.attempts (id, delivery, number, trigger, worker)
    values (new_attempt, head.id, head.attempts, head.trigger, its_worker);
    return query
        select 'run', head.id, head.attempts, null::timestamptz, head.tries, head.trigger, head.route, head.destination,
               head.ordering_key, r.id, r.source, r.delivery_id, r.event_type, r.event_time, r.received_at, p.headers, p.body
        from (values (1)) one left join oncehook.receipts r on r.id = head.receipt_id
        left join oncehook.payloads p on p.receipt_id = r.id;
end $$;
