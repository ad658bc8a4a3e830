-- What operators ordered through /api/v1, by their Idempotency-Key, so that a request which is sent again is answered again
-- and not carried out again. A day long.
create table oncehook.operator_requests (
    operator       text not null,
    key            text not null check (octet_length(key) between 1 and 255),
    request_digest bytea not null check (octet_length(request_digest) = 32),
    began_at       timestamptz not null default oncehook.now(),  -- also the fencing token of whoever carries it out
    status         integer,                                      -- null: it is being carried out, or its process has died
    answer         json,                                         -- as it was sent: json keeps the order of members, jsonb does not
    primary key (operator, key),
    constraint operator_requests_answered check ((status is null) = (answer is null))
);
create index operator_requests_by_age on oncehook.operator_requests (began_at);
