-- Who may use the operator's port. Tokens that stand in the configuration are not here.
create table oncehook.operator_tokens (
    name         text primary key,
    role         text not null check (role in ('read', 'operate')),
    digest       bytea not null unique check (octet_length(digest) = 32),  -- SHA-256 of the token, which is not kept
    created_at   timestamptz not null default oncehook.now(),
    expires_at   timestamptz,
    last_used_at timestamptz                                               -- to the minute
);

-- Who is signed in to the pages. A session ends with its token: one of the table above takes it along; one of the
-- configuration counts while it stands there with the same secret.
create table oncehook.operator_sessions (
    digest           bytea primary key check (octet_length(digest) = 32),  -- SHA-256 of the cookie, which is not kept
    stored_token     text references oncehook.operator_tokens (name) on delete cascade,
    configured_token text,
    fingerprint      text,                                                 -- of the configured token's secret
    created_at       timestamptz not null default oncehook.now(),
    seen_at          timestamptz not null default oncehook.now(),
    expires_at       timestamptz not null,
    constraint operator_sessions_token check (
        (stored_token is null) <> (configured_token is null) and (configured_token is null) = (fingerprint is null)
    )
);
create index operator_sessions_of_token on oncehook.operator_sessions (stored_token);
