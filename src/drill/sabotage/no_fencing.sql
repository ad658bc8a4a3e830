-- Whoever comes may settle, and a running delivery may be taken at any time.
do $sabotage$
declare
    edit record;
    before text;
    after text;
begin
    for edit in select * from (values
        ('oncehook.settle_delivery', ' and state = ''running'' and attempts = its_token and leased_by = its_worker', ''),
        ('oncehook.take_back_delivery', ' and lease_expires_at <= oncehook.now()', ''),
        ('oncehook.next_turn', 'head.lease_expires_at > oncehook.now()', 'false')
    ) edits(name, old, new) loop
        before := pg_get_functiondef(edit.name::regproc);
        after := replace(before, edit.old, edit.new);
        if after = before then
            raise exception '% has changed: it does not say "%" any more', edit.name, edit.old;
        end if;
        execute after;
    end loop;
end $sabotage$
