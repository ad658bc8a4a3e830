//! Sources: those that never received anything, and secrets that nobody uses. (Unsigned ones are warnings of the
//! configuration.)

use super::finding::Finding;
use crate::operate::{Desk, OperateError, SecretUse, SourceLine};

/// All about sources.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn examine(desk: &Desk) -> Result<Vec<Finding>, OperateError> {
    Ok(desk.sources().await?.iter().flat_map(of_source).collect())
}

fn of_source(source: &SourceLine) -> Vec<Finding> {
    let name = &source.source;
    let first = if source.last_receipt_at.is_none() {
        let found = format!("{name} has never received anything");
        let instead = format!(
            "give the provider the URL that ends in {}, and send a test: oncehook send {} --list shows what there is",
            source.path, source.provider
        );
        Finding::note("sources", found, instead)
    } else {
        Finding::ok("sources", format!("{name} receives"))
    };
    let secrets = source.secrets.iter().filter(|secret| secret.is_configured);
    std::iter::once(first).chain(secrets.filter_map(|secret| of_secret(source, secret))).collect()
}

fn of_secret(source: &SourceLine, secret: &SecretUse) -> Option<Finding> {
    let whose = secret.caller.as_ref().map_or(String::new(), |caller| format!(" of the caller {caller}"));
    let what = format!("{}: the secret {}{whose}", source.source, secret.fingerprint);
    if secret.uses == 0 && source.last_receipt_at.is_some() {
        let instead = "if the provider has it, send something; if it was replaced, remove it";
        return Some(Finding::note("secrets", format!("{what} has never been used"), instead));
    }
    secret.advice.ends_with("safe to drop").then(|| {
        let instead = "remove it from `secrets` of the source, and from where it is kept";
        Finding::note("secrets", format!("{what} is {}", secret.advice), instead)
    })
}
