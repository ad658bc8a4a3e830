//! [sources.NAME.callers.NAME]: who may send commands to an `api` source. A secret names its caller, so that no two callers
//! may have the same one.

use super::{
    compiled::Caller,
    generated::Plan,
    reader::Reader,
    secret::{Purpose, Resolved, Resolver},
};
use crate::domain::{CallerName, Fingerprint, Secret};

/// The caller of a source that has `secrets` and no `callers`.
pub(super) const DEFAULT: &str = "default";

/// Callers of one source. Each request is compared with the secrets of all of them.
const CALLERS_MAX: usize = 100;

/// Secrets of one caller: two while they rotate, and some room.
const SECRETS_MAX: usize = 4;

/// What to write where there is no caller.
const HOW_TO_ADMIT: &str = "write callers.NAME = { secrets = [{ env = \"NAME_TOKEN\" }] } for each program that may send, or secrets = [{ env = \"TOKEN\" }] for all";

/// Who may send.
pub(super) struct Admitted {
    pub(super) callers: Vec<Caller>,
    /// The secrets of all callers.
    pub(super) secrets: Vec<Secret>,
    /// Secrets that are still to be made.
    pub(super) plans: Vec<Plan>,
}

/// Reads the callers of one source.
pub(super) fn callers(table: &Reader<'_>, resolver: &Resolver<'_>, purpose: Purpose<'_>) -> Admitted {
    let mut admitted = Admitted { callers: Vec::new(), secrets: Vec::new(), plans: Vec::new() };
    table.refuse_all(
        &["allow_unsigned"],
        "does not fit an api source, which tells its callers apart by their secrets",
        "remove it, and give each caller a secret",
    );
    let named = table.named("callers");
    match (table.has("secrets"), table.has("callers")) {
        (true, true) => table.mistake(
            "secrets",
            "stands beside callers, and whose it is is not said",
            "move it into a caller: callers.NAME = { secrets = [...] }",
        ),
        (false, _) if named.is_empty() => {
            table.mistake("callers", "there is no caller, so nobody could send", HOW_TO_ADMIT);
        }
        _ => {}
    }
    if named.len() > CALLERS_MAX {
        let problem = format!("are {}; {CALLERS_MAX} are the most", named.len());
        table.mistake("callers", problem, "give programs of one team one name, or add another source");
    }
    if table.has("secrets") {
        let name = DEFAULT.parse().expect("the name of the only caller is one");
        admit(table, name, resolver, purpose, &mut admitted);
    }
    for (name, table) in named.into_iter().take(CALLERS_MAX) {
        match name.parse::<CallerName>() {
            Ok(caller) => {
                let whose = format!("{}.{name}", purpose.name);
                admit(&table, caller, resolver, Purpose { name: &whose, ..purpose }, &mut admitted);
            }
            Err(error) => {
                table.findings.mistake(&table.place, &table.path, error.to_string(), "rename the caller");
                continue;
            }
        }
        table.finish();
    }
    admitted
}

/// Reads the secrets of one caller.
fn admit(table: &Reader<'_>, name: CallerName, resolver: &Resolver<'_>, purpose: Purpose<'_>, admitted: &mut Admitted) {
    let items = table.list("secrets", "[{ env = \"SHOP_TOKEN\" }]").unwrap_or_default();
    if items.is_empty() || items.len() > SECRETS_MAX {
        let problem =
            format!("{} secrets: a caller has 1 to {SECRETS_MAX}, more than one while they change", items.len());
        table.mistake("secrets", problem, "write secrets = [{ env = \"NAME_TOKEN\" }]");
        return;
    }
    let mut own: Vec<Fingerprint> = Vec::new();
    for (path, node) in items {
        match resolver.resolve(node, &path, purpose) {
            Some(Resolved::Ready(secret)) => {
                let print = secret.fingerprint();
                let holder = admitted.callers.iter().find(|other| other.secrets.contains(print));
                if let Some(other) = holder {
                    let problem =
                        format!("is the secret of the caller {} too: nobody could tell the two apart", other.name);
                    table.findings.mistake(&node.place, &path, problem, "give each caller a secret of its own");
                } else if own.contains(print) {
                    table.findings.warn(format!("{path}: this secret stands twice in the list"));
                } else {
                    own.push(print.clone());
                    admitted.secrets.push(secret);
                }
            }
            Some(Resolved::ToGenerate(plan)) => admitted.plans.push(plan),
            None => {}
        }
    }
    admitted.callers.push(Caller { name, secrets: own });
}
