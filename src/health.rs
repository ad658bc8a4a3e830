//! What this process knows of itself: whether it can store webhooks now. Written by whoever finds out, read by the health
//! pages without asking anyone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::PgPool;

use crate::store::answers;

/// Between two looks at the database.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Shared knowledge; clones see the same.
#[derive(Debug, Clone, Default)]
pub struct Health {
    database_is_away: Arc<AtomicBool>,
    is_stopping: Arc<AtomicBool>,
}

impl Health {
    /// The database answered, or did not.
    pub fn database_answers(&self, answers: bool) {
        self.database_is_away.store(!answers, Ordering::Relaxed);
    }

    /// Shutdown has begun.
    pub fn stopping(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// One sentence, or `None` when all is well.
    #[must_use]
    pub fn why_not_ready(&self) -> Option<&'static str> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Some("oncehook is stopping");
        }
        self.database_is_away.load(Ordering::Relaxed).then_some("the database cannot be reached")
    }
}

/// Asks the database again and again whether it answers, until the pool is closed.
pub async fn watch(health: Health, pool: PgPool) {
    while !pool.is_closed() {
        let is_there = match pool.acquire().await {
            Ok(mut conn) => answers(&mut conn).await.is_ok(),
            Err(_) => false,
        };
        health.database_answers(is_there);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_follows_the_database_and_ends_with_shutdown() {
        let health = Health::default();
        assert_eq!(health.why_not_ready(), None);
        health.database_answers(false);
        assert!(health.why_not_ready().is_some());
        health.database_answers(true);
        assert_eq!(health.why_not_ready(), None);
        health.stopping();
        assert!(health.why_not_ready().is_some());
    }
}
