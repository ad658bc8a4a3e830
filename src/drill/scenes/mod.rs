//! Part one of the drill: small scenes, each the story of one promise, played with the real processes.

mod crashes;
mod outbox;
mod repeats;
mod stage;

use std::{future::Future, pin::Pin, time::Duration};

use serde::Serialize;

use self::stage::Stage;
use super::Ground;

/// Longest that a scene may take.
const SCENE_WITHIN: Duration = Duration::from_secs(60);

/// A scene that was played.
#[derive(Debug, Clone, Serialize)]
pub struct Played {
    /// What it shows.
    pub name: &'static str,
    /// Whether it went as promised.
    pub passed: bool,
    /// What was seen, or what was not as promised.
    pub seen: String,
}

type Scene = for<'a> fn(&'a mut Stage) -> Pin<Box<dyn Future<Output = anyhow::Result<String>> + Send + 'a>>;

/// All scenes, in the order in which they teach.
const SCENES: &[(&str, Scene)] = &[
    ("an event comes in and is delivered", |stage| Box::pin(repeats::happy_path(stage))),
    ("the same event twice at a naive consumer", |stage| Box::pin(repeats::naive_consumer(stage))),
    ("the same event twice at Oncehook", |stage| Box::pin(repeats::same_event_twice(stage))),
    ("two at the same moment, one claim", |stage| Box::pin(repeats::concurrent_pair(stage))),
    ("the consumer exits with code 42 after its commit", |stage| Box::pin(crashes::exit_42(stage))),
    ("the answer is lost after the commit", |stage| Box::pin(crashes::lost_answer(stage))),
    ("the same id with another payload", |stage| Box::pin(repeats::other_payload(stage))),
    ("the dispatcher of the outbox publishes twice", |stage| Box::pin(outbox::published_twice(stage))),
    ("the worker dies after the call, before its report", |stage| Box::pin(crashes::unreported_call(stage))),
    ("a retry that comes after the horizon", |stage| Box::pin(repeats::after_the_horizon(stage))),
];

/// Plays all of them, telling of each as it ends.
///
/// # Errors
/// When the stage cannot be set. A scene that goes wrong is no error, but told.
pub(super) async fn play(ground: &Ground<'_>, tell: impl Fn(&Played)) -> anyhow::Result<Vec<Played>> {
    let mut stage = Stage::set(ground).await?;
    let mut played = Vec::new();
    for &(name, scene) in SCENES {
        let ended = tokio::time::timeout(SCENE_WITHIN, scene(&mut stage)).await;
        let (passed, seen) = match ended {
            Ok(Ok(seen)) => (true, seen),
            Ok(Err(error)) => (false, format!("{error:#}")),
            Err(_) => (false, format!("it did not end within {} s", SCENE_WITHIN.as_secs())),
        };
        let scene = Played { name, passed, seen };
        tell(&scene);
        played.push(scene);
        stage.clear();
    }
    stage.strike(&ground.cluster).await?;
    Ok(played)
}
