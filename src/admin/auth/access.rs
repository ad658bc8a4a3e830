//! Who may use the operator's port: compares what requests show with the configuration and the database. Knows no HTTP.

use std::{net::IpAddr, sync::Arc, time::Duration};

use sqlx::{Connection as _, PgPool};

use super::{
    origin::Own,
    session::{Key, Session},
    tally::SignIns,
    throttle::{Pace, Throttle},
};
use crate::{
    blueprint::Live,
    clock::Clock,
    config::{Admin, Config},
    domain::{OperatorToken, TokenDigest, TokenName},
    operate::{Operator, Role, Via},
    store::{
        self, audit,
        sessions::{self, Whose},
        tokens::{self, Holder},
    },
};

/// Attempts to sign in: people mistype, and do not do so often.
const SIGN_IN_EACH: Pace = Pace { burst: 5, every: Duration::from_secs(12) };
const SIGN_IN_ALL: Pace = Pace { burst: 50, every: Duration::from_secs(1) };

/// Requests with a wrong bearer token: a program with an old one goes on asking, and must not keep out others behind the same
/// proxy.
const TOKEN_EACH: Pace = Pace { burst: 60, every: Duration::from_secs(1) };
const TOKEN_ALL: Pace = Pace { burst: 600, every: Duration::from_millis(100) };

/// Sessions of one token at a time: more than a person has browsers.
const SESSIONS_KEPT: i64 = 50;

/// Who may use the operator's port. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Access(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    live: Live,
    pool: PgPool,
    clock: Clock,
    /// `--no-auth`. As it was at the start: no reload may open the port.
    is_open: bool,
    is_local: bool,
    sign_ins: Throttle,
    wrong_tokens: Throttle,
    tally: SignIns,
}

/// Somebody who has shown a token or a session of theirs.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) role: Role,
    whose: Whose,
}

impl Known {
    pub(super) fn operator(self, via: Via) -> Operator {
        Operator { name: self.name, role: self.role, via }
    }
}

/// Why nobody was let in.
#[derive(Debug)]
pub(super) enum Stranger {
    /// There is no such token or session.
    Unknown,
    /// Too many have been tried.
    Throttled(Duration),
    /// It cannot be looked up now.
    Away(store::StoreError),
}

impl From<store::StoreError> for Stranger {
    fn from(error: store::StoreError) -> Self {
        Self::Away(error)
    }
}

impl From<sqlx::Error> for Stranger {
    fn from(error: sqlx::Error) -> Self {
        Self::Away(error.into())
    }
}

impl Access {
    /// By the configuration of each moment and the tokens in the database behind `pool`.
    #[must_use]
    pub fn new(live: Live, pool: PgPool, clock: Clock) -> Self {
        let config = live.load_full().config.clone();
        Self(Arc::new(Inner {
            is_open: config.admin.no_auth,
            is_local: config.admin.listen.ip().is_loopback(),
            live,
            pool,
            clock,
            sign_ins: Throttle::new(SIGN_IN_EACH, SIGN_IN_ALL),
            wrong_tokens: Throttle::new(TOKEN_EACH, TOKEN_ALL),
            tally: SignIns::default(),
        }))
    }

    /// Counters, as Prometheus text.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        self.0.tally.to_prometheus()
    }

    pub(super) fn config(&self) -> Arc<Config> {
        self.0.live.load().config.clone()
    }

    /// Whether everybody on this machine is let in. Asked again here, so that no mistake elsewhere opens a port to others.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_open && self.0.is_local
    }

    pub(super) fn own(&self) -> Own {
        Own { public_url: self.config().admin.public_url.clone(), is_local: self.0.is_local }
    }

    /// Whoever `--no-auth` lets in.
    pub(super) fn anyone(via: Via) -> Operator {
        Operator { name: TokenName::ANYONE.to_owned(), role: Role::Operate, via }
    }

    /// The holder of a bearer token.
    pub(super) async fn by_token(&self, token: &[u8], peer: IpAddr) -> Result<Known, Stranger> {
        let now = self.0.clock.now();
        // Programs that hold a token of the configuration are served whatever others try.
        if let Some(known) = configured(&self.config().admin, token) {
            return Ok(known);
        }
        self.0.wrong_tokens.look(peer, now).map_err(Stranger::Throttled)?;
        if let Some(known) = self.stored(token).await? {
            return Ok(known);
        }
        self.0.tally.refuse_token();
        self.0.wrong_tokens.take(peer, now).map_err(Stranger::Throttled)?;
        tracing::info!(%peer, "a request showed a token that nobody has");
        Err(Stranger::Unknown)
    }

    /// Who is signed in. `is_sign_of_life`: whether somebody looks, and not only an open page.
    pub(super) async fn by_session(&self, key: &Key, is_sign_of_life: bool) -> Result<Known, Stranger> {
        let config = self.config();
        let digest = key.digest();
        let mut conn = self.0.pool.acquire().await?;
        let found = sessions::find_session(&mut conn, &digest, config.admin.session_idle).await?;
        let Some(found) = found else { return Err(Stranger::Unknown) };
        let known = match &found.whose {
            Whose::Stored(holder) => Some((holder.name.clone(), holder.role)),
            Whose::Configured { name, fingerprint } => {
                let is_it = |token: &&crate::config::AdminToken| {
                    token.name.as_str() == name && token.secret.fingerprint().as_str() == fingerprint
                };
                config.admin.tokens.iter().find(is_it).map(|token| (name.clone(), token.role))
            }
        };
        let Some((name, role)) = known else {
            sessions::delete_session(&mut conn, &digest).await?;
            return Err(Stranger::Unknown);
        };
        if found.is_due && is_sign_of_life {
            sessions::touch_session(&mut conn, &digest).await?;
        }
        Ok(Known { name, role, whose: found.whose })
    }

    /// Begins a session for the holder of `token`, and ends the one that the browser had.
    pub(super) async fn sign_in(
        &self,
        token: &[u8],
        peer: IpAddr,
        before: Option<&Key>,
    ) -> Result<(Key, Known), Stranger> {
        let now = self.0.clock.now();
        if let Err(wait) = self.0.sign_ins.take(peer, now) {
            self.0.tally.throttle();
            return Err(Stranger::Throttled(wait));
        }
        let known = match configured(&self.config().admin, token) {
            Some(known) => Some(known),
            None => self.stored(token).await?,
        };
        let Some(known) = known else {
            self.0.tally.refuse();
            tracing::warn!(%peer, "somebody tried to sign in with a token that nobody has");
            return Err(Stranger::Unknown);
        };
        let key = self.begin_session(&known, before).await?;
        self.0.sign_ins.give_back(peer, now);
        self.0.tally.accept();
        tracing::info!(%peer, operator = known.name, "an operator has signed in");
        Ok((key, known))
    }

    async fn begin_session(&self, known: &Known, before: Option<&Key>) -> Result<Key, Stranger> {
        let admin = &self.config().admin;
        let key = Key::fresh();
        let mut conn = self.0.pool.acquire().await?;
        let mut tx = conn.begin().await?;
        if let Some(before) = before {
            sessions::delete_session(&mut tx, &before.digest()).await?;
        }
        if !sessions::insert_session(&mut tx, &key.digest(), &known.whose, admin.session_max).await? {
            return Err(Stranger::Unknown);
        }
        sessions::prune_sessions(&mut tx, admin.session_idle, SESSIONS_KEPT).await?;
        let by = Operator { name: known.name.clone(), role: known.role, via: Via::Dashboard };
        audit::record_audit(&mut tx, &by, "login", &by.name, None, &serde_json::json!({})).await?;
        tx.commit().await?;
        Ok(key)
    }

    /// Ends a session.
    pub(super) async fn sign_out(&self, session: &Session, by: &Operator) -> store::Result<()> {
        let mut conn = self.0.pool.acquire().await?;
        let mut tx = conn.begin().await?;
        if sessions::delete_session(&mut tx, &session.digest).await? {
            audit::record_audit(&mut tx, by, "logout", &by.name, None, &serde_json::json!({})).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// The holder of a token in the database, which is only asked for what could be one of its own.
    async fn stored(&self, token: &[u8]) -> Result<Option<Known>, Stranger> {
        if !OperatorToken::is_shaped(token) {
            return Ok(None);
        }
        let mut conn = self.0.pool.acquire().await?;
        let Some(holder) = tokens::find_holder(&mut conn, TokenDigest::of(token).as_bytes()).await? else {
            return Ok(None);
        };
        tokens::note_use(&mut conn, &holder.name).await?;
        let Holder { name, role } = holder.clone();
        Ok(Some(Known { name, role, whose: Whose::Stored(holder) }))
    }
}

/// The holder of a token in the configuration. Compares with all, whether or not one has matched.
fn configured(admin: &Admin, token: &[u8]) -> Option<Known> {
    let shown = TokenDigest::of(token);
    let mut holder = None;
    for token in &admin.tokens {
        if TokenDigest::of(token.secret.expose()).is(&shown) {
            holder = Some(token);
        }
    }
    holder.map(|token| Known {
        name: token.name.to_string(),
        role: token.role,
        whose: Whose::Configured { name: token.name.to_string(), fingerprint: token.secret.fingerprint().to_string() },
    })
}
