-- The constraint keeps its name, by which the recording statement calls it, and holds nothing any more: an id is always new.
alter table oncehook.receipts
    drop constraint receipts_identity,
    add constraint receipts_identity unique (source, delivery_id, hook_scope, id)
