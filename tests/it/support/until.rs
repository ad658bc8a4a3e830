//! Waiting for what nobody can tell the test: it looks again and again, and fails when it does not come.

use std::time::Duration;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns when `is_so` holds. Panics with `what` when it does not within a minute.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async {
        let mut look = tokio::time::interval(LOOK_EVERY);
        while !is_so().await {
            look.tick().await;
        }
    };
    in_time(what, looking).await;
}

/// Gives what `future` gives. Panics with `what` when that takes more than a minute.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited a minute for this: {what}"),
    }
}
