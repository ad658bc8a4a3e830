//! The database's clock, as tests move it.

use sqlx::PgConnection;

/// Puts a clock that the test moves in place of the database's. PostgreSQL inlines the function, in tests as elsewhere.
pub async fn make_movable(conn: &mut PgConnection) {
    let statements = "
        create schema oncehook_test;
        create table oncehook_test.clock (moved interval not null);
        insert into oncehook_test.clock values (interval '0');
        create or replace function oncehook.now() returns timestamptz language sql stable parallel safe
            as 'select pg_catalog.now() + (select moved from oncehook_test.clock)';";
    sqlx::raw_sql(statements).execute(conn).await.unwrap();
}
