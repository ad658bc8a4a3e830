-- The head of a lane is the first that does not run yet, so that a second claim gets the second delivery.
do $sabotage$
declare
    before text := pg_get_functiondef('oncehook.next_turn'::regproc);
    after text := replace(before, 'order by d.place, d.seq limit 1 for update',
        'order by (d.state = ''running'' and d.lease_expires_at > oncehook.now()), d.place, d.seq limit 1 for update');
begin
    if after = before then
        raise exception 'oncehook.next_turn has changed: it does not choose its head by place and seq any more';
    end if;
    execute after;
end $sabotage$
