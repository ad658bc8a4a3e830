//! Functions that users wrote, for destinations of kind "sql": found in the catalogue, called under a role of their own.
//!
//! Names come from the configuration and reach a statement only as the catalogue quotes them.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, types::Json};

use super::effects::milliseconds;

/// Which function, and as whom.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The function's schema, as the catalogue has it.
    pub schema: &'a str,
    /// Its name, likewise.
    pub function: &'a str,
    /// The role that it is called as.
    pub role: &'a str,
}

/// What the catalogue says about a function and a role, at this moment.
#[derive(Debug, Clone)]
pub struct Found {
    /// Our own role.
    pub own_role: String,
    /// The role exists.
    pub has_role: bool,
    /// It is a superuser, whom nothing holds back.
    pub is_superuser: bool,
    /// The role may use the schema; `None`: there is no such schema.
    pub has_usage: Option<bool>,
    /// `(jsonb, jsonb) returns void`: whether the role may call it.
    pub takes_jsonb: Option<bool>,
    /// `(jsonb, bytea) returns void`: whether the role may call it.
    pub takes_bytes: Option<bool>,
    /// The function's name, with its schema, as a statement needs it; `None`: there is neither of the two.
    pub quoted: Option<String>,
}

/// How the payload goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As jsonb.
    Json,
    /// As bytea.
    Bytes,
}

/// Looks a function and a role up. Locks nothing.
///
/// # Errors
/// Those of the database.
pub async fn find(conn: &mut PgConnection, wanted: Wanted<'_>) -> sqlx::Result<Found> {
    sqlx::query_as!(
        Found,
        r#"with its_role as (select oid, rolsuper from pg_catalog.pg_roles where rolname = $3),
                its_schema as (select oid, nspname from pg_catalog.pg_namespace where nspname = $1),
                candidates as (
                    select p.proargtypes[1] as payload, format('%I.%I', s.nspname, p.proname) as quoted,
                           coalesce((select has_function_privilege(r.oid, p.oid, 'execute') from its_role r), false) as may_call
                    from pg_catalog.pg_proc p join its_schema s on s.oid = p.pronamespace
                    where p.proname = $2 and p.prokind = 'f' and p.pronargs = 2 and not p.proretset
                      and p.prorettype = 'void'::regtype and p.proargtypes[0] = 'jsonb'::regtype
                      and p.proargtypes[1] in ('jsonb'::regtype, 'bytea'::regtype))
           select session_user::text as "own_role!", exists (select from its_role) as "has_role!",
                  coalesce((select rolsuper from its_role), false) as "is_superuser!",
                  (select coalesce((select has_schema_privilege(r.oid, s.oid, 'usage') from its_role r), false)
                   from its_schema s) as has_usage,
                  (select may_call from candidates where payload = 'jsonb'::regtype) as takes_jsonb,
                  (select may_call from candidates where payload = 'bytea'::regtype) as takes_bytes,
                  (select min(quoted) from candidates) as quoted"#,
        wanted.schema,
        wanted.function,
        wanted.role,
    )
    .fetch_one(conn)
    .await
}

/// Takes the role, the path and the time limit on, until the transaction or its savepoint ends. Each schema of the path is
/// quoted; temporary objects come last, so that none can stand in for another.
///
/// # Errors
/// Where the role is not ours to take, among those of the database.
pub async fn assume_role(conn: &mut PgConnection, role: &str, path: &[String], limit: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "select set_config('search_path',
                           (select string_agg(quote_ident(schema), ', ' order by place) || ', pg_temp'
                            from unnest($2::text[]) with ordinality p(schema, place)), true) as path,
                set_config('statement_timeout', $3, true) as limit, set_config('role', $1, true) as role",
        role,
        path,
        milliseconds(limit),
    )
    .fetch_one(conn)
    .await
    .map(drop)
}

/// Calls the function, whose name is as [`Found::quoted`] has it. It locks what it locks.
///
/// # Errors
/// Its own, among those of the database.
pub async fn call(
    conn: &mut PgConnection,
    quoted: &str,
    form: Form,
    receipt: &serde_json::Value,
    payload: &[u8],
) -> sqlx::Result<()> {
    let statement = match form {
        Form::Json => format!("select {quoted}($1::jsonb, pg_catalog.convert_from($2::bytea, 'UTF8')::jsonb)"),
        Form::Bytes => format!("select {quoted}($1::jsonb, $2::bytea)"),
    };
    let query = sqlx::query(AssertSqlSafe(statement)).bind(Json(receipt)).bind(payload);
    query.execute(conn).await.map(drop)
}

/// Has the server read a payload as jsonb, and does nothing with it. Locks nothing.
///
/// # Errors
/// Why it is none, among those of the database.
pub async fn read_as_jsonb(conn: &mut PgConnection, payload: &[u8]) -> sqlx::Result<()> {
    sqlx::query!("select convert_from($1, 'UTF8')::jsonb is null as is_read", payload).fetch_one(conn).await.map(drop)
}
