//! [admin]: the operator's port and who may use it. A token is a secret that a person or a program shows; it names its holder
//! in the audit log.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use super::{
    compiled::{Intake, Source},
    reader::Reader,
    secret::{Purpose, Resolved, Resolver},
    settings::listen,
};
use crate::{
    domain::{Secret, SourceName, TokenName},
    operate::Role,
    verify::Scheme,
};

/// Tokens in the configuration. Each request is compared with all of them.
const TOKENS_MAX: usize = 100;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// The operator's port.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Where to listen; loopback by default.
    pub listen: SocketAddr,
    /// What operators type into their browsers, where a proxy stands in front.
    pub public_url: Option<url::Url>,
    /// Who may use it, beside those with a token in the database.
    pub tokens: Vec<AdminToken>,
    /// Whether everybody may, without a token: `--no-auth`, which no file can say. Only on a loopback address.
    pub no_auth: bool,
    /// How long a session on the pages may rest.
    pub session_idle: Duration,
    /// How long it lasts at most.
    pub session_max: Duration,
}

/// A token that stands in the configuration.
#[derive(Debug, Clone)]
pub struct AdminToken {
    /// Its name, for the audit log.
    pub name: TokenName,
    /// What its holder may do.
    pub role: Role,
    /// The token itself. Invariant: no two tokens, and no source, have the same.
    pub secret: Secret,
}

impl Admin {
    /// The operator's port at an address, all else at its default.
    #[must_use]
    pub fn on(listen: SocketAddr) -> Self {
        Self {
            listen,
            public_url: None,
            tokens: Vec::new(),
            no_auth: false,
            session_idle: Duration::from_secs(30 * 60),
            session_max: Duration::from_secs(12 * 3_600),
        }
    }

    /// What keeps `--no-auth` from being taken: that other machines could reach the port.
    #[must_use]
    pub fn why_not_without_auth(&self) -> Option<String> {
        let is_local = self.listen.ip().is_loopback();
        (!is_local).then(|| {
            format!(
                "--no-auth lets everybody in who reaches admin.listen, and {} can be reached from other machines. Set \
                 admin.listen = \"127.0.0.1:{}\", or leave --no-auth away and sign in with a token (oncehook tokens create)",
                self.listen,
                self.listen.port()
            )
        })
    }
}

pub(super) fn admin(
    top: &Reader<'_>,
    intake: &Intake,
    resolver: &Resolver<'_>,
    sources: &BTreeMap<SourceName, Source>,
) -> Admin {
    let table = top.table("admin");
    let usual = Admin::on(SocketAddr::from(([127, 0, 0, 1], 8081)));
    let listen = listen(&table, usual.listen);
    if listen.port() != 0 && listen.port() == intake.listen.port() {
        let instead = "give the two ports different numbers: the operator's port must not be public";
        table.mistake("listen", format!("has the port of intake.listen, {}", listen.port()), instead);
    }
    let public_url = public_url(&table);
    let is_tls = public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    if !listen.ip().is_loopback() && !is_tls {
        table.findings.warn(format!(
            "admin.listen is {listen}, which other machines can reach, and tokens and payloads would cross the network as they are: put a proxy with TLS in front, and write its address as admin.public_url = \"https://…\""
        ));
    }
    let admin = Admin {
        listen,
        public_url,
        tokens: tokens(&table, resolver, sources),
        no_auth: false,
        session_idle: table.duration("session_idle", usual.session_idle, MINUTE..=30 * DAY),
        session_max: table.duration("session_max", usual.session_max, MINUTE..=90 * DAY),
    };
    if admin.session_idle > admin.session_max {
        let key = if table.has("session_idle") || !table.has("session_max") { "session_idle" } else { "session_max" };
        let instead = "make session_idle the shorter one, such as session_idle = \"30m\" and session_max = \"12h\"";
        table.mistake(key, "lets a session rest for longer than it lasts", instead);
    }
    table.finish();
    admin
}

fn public_url(table: &Reader<'_>) -> Option<url::Url> {
    let example = "https://oncehook.example.com";
    let text = table.text("public_url", example)?;
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(url) = url else {
        table.mistake("public_url", "is no address of a web page", format!("write it as in a browser: \"{example}\""));
        return None;
    };
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        let instead = format!(
            "write \"{}\": the pages are at the top of a host of their own",
            url.origin().ascii_serialization()
        );
        table.mistake("public_url", "holds more than a host and a port", instead);
        return None;
    }
    Some(url)
}

fn tokens(table: &Reader<'_>, resolver: &Resolver<'_>, sources: &BTreeMap<SourceName, Source>) -> Vec<AdminToken> {
    let named = table.named("tokens");
    if named.len() > TOKENS_MAX {
        let problem = format!("are {}; {TOKENS_MAX} are the most", named.len());
        table.mistake("tokens", problem, "keep the others in the database: oncehook tokens create NAME --role read");
    }
    let mut tokens: Vec<AdminToken> = Vec::new();
    for (name, table) in named.into_iter().take(TOKENS_MAX) {
        let known = name.parse::<TokenName>().map_err(|error| error.to_string());
        let known = known.and_then(|name| match name.as_str() {
            TokenName::ANYONE => Err(format!("the name {name} stands for everybody, where --no-auth lets them in")),
            _ => Ok(name),
        });
        let role = role(&table);
        let secret = secret(&table, name, resolver);
        match (known, role, secret) {
            (Err(problem), ..) => table.findings.mistake(&table.place, &table.path, problem, "rename the token"),
            (Ok(name), Some(role), Some(secret)) => {
                if let Some(holder) = holder_of(&secret, &tokens, sources) {
                    let problem = format!("is the secret of {holder} too: nobody could tell the two apart");
                    table.mistake("secret", problem, "give each token a secret of its own: openssl rand -hex 32");
                } else {
                    tokens.push(AdminToken { name, role, secret });
                }
            }
            // What is wrong has been reported.
            _ => {}
        }
        table.finish();
    }
    tokens
}

fn role(table: &Reader<'_>) -> Option<Role> {
    let instead = "write role = \"read\" to look, or role = \"operate\" to change things too";
    match table.required("role", instead)? {
        "read" => Some(Role::Read),
        "operate" => Some(Role::Operate),
        other => {
            table.mistake("role", format!("is {other:?}, which is no role"), instead);
            None
        }
    }
}

fn secret(table: &Reader<'_>, name: &str, resolver: &Resolver<'_>) -> Option<Secret> {
    let instead = "write secret = { env = \"NAME\" } or secret = { file = \"/run/secrets/name\" }";
    let Some(node) = table.node("secret") else {
        table.mistake("secret", "is missing", instead);
        return None;
    };
    // As for callers of an api source: what can stand behind `Bearer` in a header.
    let purpose = Purpose { owner: "token", name, scheme: Scheme::Api };
    match resolver.resolve(node, &table.path_of("secret"), purpose)? {
        Resolved::Ready(secret) => Some(secret),
        Resolved::ToGenerate(_) => {
            let problem = "cannot be generated: it would lie in a file that nobody hands out";
            let instead =
                format!("remove it, and make the token in the database: oncehook tokens create {name} --role read");
            table.mistake("secret", problem, instead);
            None
        }
    }
}

/// Who else has this secret. A provider that knows the secret of its source must not be an operator by that.
fn holder_of(secret: &Secret, tokens: &[AdminToken], sources: &BTreeMap<SourceName, Source>) -> Option<String> {
    let print = secret.fingerprint();
    let token = tokens.iter().find(|token| token.secret.fingerprint() == print);
    let source = || sources.values().find(|source| source.secrets.iter().any(|held| held.fingerprint() == print));
    token
        .map(|token| format!("the token {}", token.name))
        .or_else(|| source().map(|source| format!("the source {}", source.name)))
}
