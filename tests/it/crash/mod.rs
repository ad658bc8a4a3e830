//! Promises P1, P5, P6 and P7 with real processes that are really killed: whatever dies and whenever, what was answered is
//! stored, what is stored is delivered, in order, and nothing is left behind.
//!
//! `points` needs the crash points, which are compiled in with the feature `failpoints` only (`make test` has it on).

mod aftermath;
mod database;
mod embedded;
mod kill;
mod load;
#[cfg(feature = "failpoints")]
mod matrix;
#[cfg(feature = "failpoints")]
mod points;
mod shutdown;
#[cfg(feature = "failpoints")]
mod within;

/// Two routes, so that each event has a delivery in a lane and one without. One delivery runs at a time, so that a crash hits
/// one; times are short, so that what a dead process held is soon free.
fn config(destination: &url::Url) -> String {
    format!(
        r#"
[intake]
listen = "127.0.0.1:0"
threads = 1
[admin]
listen = "127.0.0.1:0"
[run]
concurrency = 1
lease = "2s"
heartbeat = "500ms"
poll = "50ms"
rescue = "200ms"
lane_budget = 3
[sources.github]
provider = "github"
secrets = [{{ env = "GITHUB_SECRET" }}]
[destinations.target]
kind = "http"
url = "{destination}"
[[routes]]
name = "ordered"
source = "github"
events = ["*"]
destination = "target"
retry = {{ attempts = 1000, initial = "20ms", max = "100ms" }}
[[routes]]
name = "loose"
source = "github"
events = ["*"]
order = "none"
destination = "target"
retry = {{ attempts = 1000, initial = "20ms", max = "100ms" }}
"#
    )
}
