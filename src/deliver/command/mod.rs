//! The `command` destination: takes a parcel, runs a program once with the body on its standard input, gives how that
//! ended. No shell reads anything, and nothing in the program's process group outlives the attempt.

mod exit;
mod output;
mod process_group;
mod variables;

use std::{io, process::Stdio, time::Duration};

use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use self::{exit::Ending, output::Output, process_group::ProcessGroup};
use super::Parcel;
use crate::{config::CommandDestination, domain::Outcome};

/// How long the last output may take once the program and its group are gone: it is in the pipe. Without this limit,
/// something that has left the group and holds the pipe would be waited for.
const REST_WAIT: Duration = Duration::from_millis(250);

/// How long a killed program may take to be gone. One that hangs in the kernel is left to it.
const GONE_WAIT: Duration = Duration::from_secs(2);

/// One program, and how to run it.
#[derive(Debug)]
pub(super) struct Command {
    settings: CommandDestination,
}

impl Command {
    pub(super) fn new(settings: CommandDestination) -> Self {
        Self { settings }
    }

    /// Makes one attempt. Dropping the future kills the program and its process group.
    pub(super) async fn run(&self, parcel: &Parcel) -> Outcome {
        let (mut output, mut group) = match self.start(parcel) {
            Ok(started) => started,
            Err(error) => return exit::not_started(&self.settings, &error),
        };
        let in_time = timeout(self.settings.timeout, async {
            let reading = async {
                output.read_to_end().await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = group.feed_until_exit(&parcel.body) => {}
                () = reading => {}
            }
        });
        let is_late = in_time.await.is_err();
        // What the program has left running: an attempt that is over changes nothing any more.
        group.kill();
        let _ = timeout(REST_WAIT, output.read_to_end()).await;
        let ending = match group.reap(GONE_WAIT).await {
            _ if is_late => Ending::Late(self.settings.timeout),
            Ok(exit) => Ending::Exited(exit),
            Err(error) => Ending::Lost(error),
        };
        exit::of_program(ending, output, &self.settings.reject_exits)
    }

    fn start(&self, parcel: &Parcel) -> io::Result<(Output, ProcessGroup)> {
        let (output, stdout, stderr) = Output::open()?;
        let mut command = tokio::process::Command::new(&self.settings.program);
        command
            .args(&self.settings.arguments)
            .current_dir(&self.settings.directory)
            .env_clear()
            .envs(variables::of_attempt(parcel))
            .envs(self.settings.environment.iter().map(|(name, value)| (name, value.expose_secret())))
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr);
        // The command goes with its ends of the pipe, or the output would never end.
        Ok((output, ProcessGroup::start(command)?))
    }
}
