//! The `sql` destination: calls a user's function once, as the user's role, in a transaction that is not its own. Never
//! commits; what the function may see and do is up to the role.

mod advice;
mod receipt;

pub(crate) use advice::for_missing as what_a_function_lacks;

use bytes::Bytes;
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};

use super::{
    Parcel,
    database_error::{code_of, ended, of_effect},
};
use crate::{
    config::SqlDestination,
    domain::{Outcome, OutcomeClass},
    store::sql_functions::{self, Form, Found, Wanted},
};

/// One function.
#[derive(Debug)]
pub(super) struct Sql {
    settings: SqlDestination,
}

/// One call, but for the form of the payload.
struct Call<'a> {
    quoted: &'a str,
    receipt: Value,
    payload: &'a Bytes,
}

impl Sql {
    pub(super) fn new(settings: SqlDestination) -> Self {
        Self { settings }
    }

    /// Makes one attempt. `payload` is the JSON of the event, or its body where there is none.
    pub(super) async fn call(&self, conn: &mut PgConnection, parcel: &Parcel, payload: &Bytes) -> Outcome {
        match self.find_and_call(conn, parcel, payload).await {
            Ok(()) => ended(OutcomeClass::Succeeded, "was taken by the function"),
            Err(outcome) => outcome,
        }
    }

    async fn find_and_call(&self, conn: &mut PgConnection, parcel: &Parcel, payload: &Bytes) -> Result<(), Outcome> {
        let SqlDestination { schema, function, role, timeout, .. } = &self.settings;
        let found = sql_functions::find(conn, Wanted { schema, function, role }).await;
        // Looked up each time: it may be replaced while we run, and what is missing is known before it is called.
        let found = found.map_err(|error| of_effect(&error, *timeout))?;
        let quoted = self.callable(&found)?;
        let call = Call { quoted, receipt: receipt::of(parcel), payload };
        if found.takes_jsonb.is_none() {
            return self.call_as(conn, &found, &call, Form::Bytes).await.map_err(|error| of_effect(&error, *timeout));
        }
        let Err(error) = self.call_as(conn, &found, &call, Form::Json).await else { return Ok(()) };
        // Only then is it worth to look whether it was the payload: a cast tells by its error, and so may the function itself.
        let refusal = if may_be_the_payload(&error) { refusal_of_jsonb(conn, payload).await } else { None };
        match refusal {
            None => Err(of_effect(&error, *timeout)),
            Some(_) if found.takes_bytes.is_some() => {
                self.call_as(conn, &found, &call, Form::Bytes).await.map_err(|error| of_effect(&error, *timeout))
            }
            Some(refusal) => Err(ended(
                OutcomeClass::Rejected,
                &format!(
                    "has a payload that PostgreSQL's jsonb refuses ({refusal}), and there is no variant for bytes: {}",
                    advice::for_bytes(&self.settings)
                ),
            )),
        }
    }

    /// What is missing is failed and not rejected: an operator adds it, and the delivery goes on.
    fn callable<'a>(&self, found: &'a Found) -> Result<&'a str, Outcome> {
        match (advice::for_missing(&self.settings, found), &found.quoted) {
            (None, Some(quoted)) => Ok(quoted),
            (advice, _) => Err(ended(OutcomeClass::Failed, &advice.unwrap_or_default())),
        }
    }

    /// Calls behind a savepoint, so that a refused payload can be followed by another call.
    async fn call_as(
        &self,
        conn: &mut PgConnection,
        found: &Found,
        call: &Call<'_>,
        form: Form,
    ) -> Result<(), sqlx::Error> {
        let mut savepoint = conn.begin().await?;
        let SqlDestination { role, search_path, timeout, .. } = &self.settings;
        let called = match sql_functions::assume_role(&mut savepoint, role, search_path, *timeout).await {
            Err(error) if code_of(&error) == "42501" => {
                Err(sqlx::Error::Configuration(advice::for_grant(role, found).into()))
            }
            Err(error) => Err(error),
            Ok(()) => sql_functions::call(&mut savepoint, call.quoted, form, &call.receipt, call.payload).await,
        };
        match called {
            Ok(()) => savepoint.commit().await,
            Err(error) => {
                savepoint.rollback().await?;
                Err(error)
            }
        }
    }
}

/// Class 22 is about data, class 54 about limits: those that a cast to jsonb can give are among them.
fn may_be_the_payload(error: &sqlx::Error) -> bool {
    let code = code_of(error);
    code.starts_with("22") || code.starts_with("54")
}

/// Why the server does not read the payload as jsonb; `None` if it does.
async fn refusal_of_jsonb(conn: &mut PgConnection, payload: &Bytes) -> Option<String> {
    let mut savepoint = conn.begin().await.ok()?;
    let read = sql_functions::read_as_jsonb(&mut savepoint, payload).await;
    savepoint.rollback().await.ok()?;
    let error = read.err().filter(may_be_the_payload)?;
    Some(format!("{}: {}", code_of(&error), error.as_database_error()?.message()))
}
