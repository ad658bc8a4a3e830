//! Which user the server runs as: takes who we are, gives who the child must become. PostgreSQL refuses root.

use std::{io, os::unix::fs::MetadataExt as _, path::Path};

use nix::unistd::{Uid, User};
use tokio::process::Command;

use super::PostgresError;

/// The server's user and group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChildUser {
    pub uid: u32,
    pub gid: u32,
    /// Whether we are root and must change to it.
    is_lowered: bool,
}

impl ChildUser {
    /// Ourselves; or, for root, the owner of the cluster if there is one, else `postgres`, else `nobody`.
    pub fn choose(cluster: &Path) -> Result<Self, PostgresError> {
        let me =
            Self { uid: Uid::effective().as_raw(), gid: nix::unistd::Gid::effective().as_raw(), is_lowered: false };
        let owner = std::fs::metadata(cluster).ok().map(|of| (of.uid(), of.gid()));
        if me.uid != 0 {
            return match owner {
                Some((uid, _)) if uid != me.uid => Err(PostgresError::NotOurs {
                    path: cluster.to_owned(),
                    problem: format!(
                        "belongs to user {uid}, and we are user {}. Run Oncehook as the user who made it, or chown -R it",
                        me.uid
                    ),
                }),
                _ => Ok(me),
            };
        }
        if let Some((uid, gid)) = owner.filter(|(uid, _)| *uid != 0) {
            return Ok(Self { uid, gid, is_lowered: true });
        }
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Self { uid: user.uid.as_raw(), gid: user.gid.as_raw(), is_lowered: true })
            .ok_or(PostgresError::NoUser)
    }

    /// Makes the program run as this user, in its own process group: the Ctrl-C of a terminal is for us, and we stop the
    /// server after the last delivery has settled. Of our environment, which may hold secrets, it sees only `PATH`.
    pub fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C").env("TZ", "UTC");
        command.stdin(std::process::Stdio::null()).process_group(0);
        if self.is_lowered {
            // With a uid set and no groups, the standard library also drops root's supplementary groups.
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Whether this user can enter a folder: found out by doing it, since modes alone do not tell (ACLs, mounts).
    pub async fn can_enter(self, dir: &Path) -> bool {
        if !self.is_lowered {
            return true;
        }
        let shell = self.command(Path::new("/bin/sh")).args(["-c", ":"]).current_dir(dir).status().await;
        shell.is_ok_and(|status| status.success())
    }

    /// Gives a file or folder to this user, where that is not us.
    pub fn give(self, path: &Path) -> io::Result<()> {
        if self.is_lowered { std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid)) } else { Ok(()) }
    }
}
