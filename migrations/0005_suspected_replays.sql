-- A provider that does not sign its delivery id cannot keep a captured request from coming back under a new one. The same
-- bytes under another id are suspect.
alter table oncehook.receipts
    add column is_watched boolean not null default false,  -- the source had a replay_guard when it was recorded
    add column replay_of  uuid;                            -- an earlier receipt of the source with the same bytes
-- Only for sources that watch: it costs each receipt a random place in an index.
create index receipts_same_bytes on oncehook.receipts (source, body_digest) where is_watched;
