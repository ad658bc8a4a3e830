//! Shutdown: the first SIGTERM or Ctrl-C asks everything to finish, the second ends the process at once.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Tells those who hold it that shutdown has begun. Clones tell the same.
#[derive(Debug, Clone)]
pub struct Shutdown {
    begun: watch::Receiver<bool>,
}

/// Begins shutdown, once.
#[derive(Debug)]
pub struct Trigger {
    begin: watch::Sender<bool>,
}

/// A shutdown that begins when the trigger is pulled.
#[must_use]
pub fn channel() -> (Trigger, Shutdown) {
    let (begin, begun) = watch::channel(false);
    (Trigger { begin }, Shutdown { begun })
}

impl Trigger {
    /// Begins shutdown.
    pub fn pull(&self) {
        self.begin.send_replace(true);
    }
}

impl Shutdown {
    /// Waits until shutdown has begun, also if the trigger is gone.
    pub async fn begun(&mut self) {
        // An error means that the trigger was dropped: nobody is left who could begin it otherwise.
        let _ = self.begun.wait_for(|begun| *begun).await;
    }
}

/// Pulls the trigger at the first SIGTERM or SIGINT, and leaves at once at the second.
///
/// # Errors
/// When the signals cannot be listened to.
pub fn on_signals(trigger: Trigger) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("stopping: finishing what is under way; a second signal stops at once");
        trigger.pull();
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::warn!("stopped at once by a second signal");
        std::process::exit(130);
    });
    Ok(())
}
