//! Where the cluster lives: takes the data folder, gives the folders of cluster, socket and log, made and owned as they
//! must be. It never moves a cluster that exists.

use std::{
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{ChildUser, PostgresError, server};

/// The shortest limit of a Unix socket's path among the systems we run on (macOS; Linux has 107).
const SOCKET_PATH_BYTES_MAX: usize = 103;
/// The file in the data folder that says where the cluster is, when it is elsewhere.
const POINTER: &str = "postgres.is-in";

/// Every path of one cluster.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// PGDATA.
    pub cluster: PathBuf,
    /// Where a new server puts its socket. A running one says for itself where it is.
    pub socket_dir: PathBuf,
    /// The server's log.
    pub log_file: PathBuf,
    /// Holds the locks.
    pub data_dir: PathBuf,
    /// Whose server it is.
    pub user: ChildUser,
}

impl Place {
    /// Whether there may be a cluster at all.
    pub fn exists(data_dir: &Path) -> bool {
        data_dir.join("postgres").is_dir() || data_dir.join(POINTER).is_file()
    }

    /// Finds where the cluster of `data_dir` is, or where it is to be.
    pub async fn choose(data_dir: &Path, fallback_root: &Path) -> Result<Self, PostgresError> {
        // Root's folders must let the server's user pass; what is in them has modes of its own.
        let mode = if nix::unistd::Uid::effective().is_root() { 0o711 } else { 0o700 };
        make_dir(data_dir, mode)?;
        let data_dir = data_dir.canonicalize().map_err(|source| PostgresError::file("use", data_dir, source))?;
        let home = match pointed_to(&data_dir)? {
            Some(home) => home,
            None => Self::new_home(&data_dir, fallback_root).await?,
        };
        let cluster = home.join("postgres");
        let user = ChildUser::choose(&cluster)?;
        if !user.can_enter(&home).await {
            return Err(PostgresError::NotOurs {
                path: home,
                problem: format!(
                    "cannot be entered by user {}, as whom PostgreSQL must run. Allow it to pass (chmod o+x on the \
                     folder and those above it), or choose another data_dir",
                    user.uid
                ),
            });
        }
        let socket_dir = socket_dir(&home);
        Ok(Self { cluster, socket_dir, log_file: data_dir.join("postgres.log"), data_dir, user })
    }

    /// The data folder itself; or, where the server's user cannot get in (`/root/oncehook`), a folder elsewhere that is
    /// named after it, and a file in the data folder that says so.
    async fn new_home(data_dir: &Path, fallback_root: &Path) -> Result<PathBuf, PostgresError> {
        let user = ChildUser::choose(&data_dir.join("postgres"))?;
        if data_dir.join("postgres").exists() || user.can_enter(data_dir).await {
            return Ok(data_dir.to_owned());
        }
        let home = fallback_root.join(short_hash(data_dir));
        make_dir(&home, 0o711)?;
        let pointer = data_dir.join(POINTER);
        fs::write(&pointer, home.as_os_str().as_bytes())
            .map_err(|source| PostgresError::file("write", &pointer, source))?;
        tracing::info!(
            data_dir = %data_dir.display(), cluster = %home.display(), user = user.uid,
            "PostgreSQL does not run as root, and its user cannot enter the data folder: the database lives elsewhere"
        );
        Ok(home)
    }

    /// The major version of the cluster, or `None` where there is none yet.
    pub fn cluster_version(&self) -> Result<Option<u32>, PostgresError> {
        let file = self.cluster.join("PG_VERSION");
        match fs::read_to_string(&file) {
            Ok(text) => text.trim().parse().map(Some).map_err(|_| PostgresError::NotOurs {
                path: file,
                problem: format!("should hold a PostgreSQL version such as 15, and holds {:?}", text.trim()),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.cluster.exists() => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(PostgresError::NotOurs {
                path: self.cluster.clone(),
                problem: "is there and is no PostgreSQL cluster. Move it away, or choose another data_dir".to_owned(),
            }),
            Err(error) => Err(PostgresError::file("read", &file, error)),
        }
    }

    /// Makes the socket's folder, which nobody but the server's user may enter: that is all the authentication there is.
    pub fn make_socket_dir(&self) -> Result<(), PostgresError> {
        let dir = &self.socket_dir;
        make_dir(dir, 0o700)?;
        let found = fs::symlink_metadata(dir).map_err(|source| PostgresError::file("use", dir, source))?;
        // Invariant: a folder that another user made (in /tmp anybody may) is never used.
        let is_ours = found.uid() == self.user.uid || found.uid() == nix::unistd::Uid::effective().as_raw();
        if !found.is_dir() || !is_ours || found.mode() & 0o077 != 0 {
            return Err(PostgresError::NotOurs {
                path: dir.clone(),
                problem: format!("must be a folder of user {} with mode 0700. Remove it", self.user.uid),
            });
        }
        self.user.give(dir).map_err(|source| PostgresError::file("chown", dir, source))?;
        Ok(())
    }
}

fn pointed_to(data_dir: &Path) -> Result<Option<PathBuf>, PostgresError> {
    let pointer = data_dir.join(POINTER);
    match fs::read_to_string(&pointer) {
        Ok(home) => Ok(Some(PathBuf::from(home.trim_end()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PostgresError::file("read", &pointer, error)),
    }
}

fn socket_dir(home: &Path) -> PathBuf {
    let near = home.join("socket");
    let file = near.join(format!(".s.PGSQL.{}", server::PORT));
    if file.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return near;
    }
    PathBuf::from(format!("/tmp/oncehook-{}", short_hash(home)))
}

/// Names a folder after a path: 16 hex digits.
fn short_hash(path: &Path) -> String {
    hex::encode(&Sha256::digest(path.as_os_str().as_bytes())[..8])
}

/// Makes a folder and those above it. One that exists stays as it is.
pub(super) fn make_dir(dir: &Path, mode: u32) -> Result<(), PostgresError> {
    if fs::symlink_metadata(dir).is_ok() {
        return Ok(());
    }
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        // The mode asked for is cut by the umask, which may deny the server's user its way.
        .and_then(|()| fs::set_permissions(dir, fs::Permissions::from_mode(mode)));
    made.map_err(|source| PostgresError::file("make the folder", dir, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_beside_the_cluster_while_its_path_is_short_enough() {
        assert_eq!(socket_dir(Path::new("/srv/oncehook")), Path::new("/srv/oncehook/socket"));
        let long = PathBuf::from(format!("/srv/{}", "x".repeat(80)));
        let far = socket_dir(&long);
        assert!(far.starts_with("/tmp") && far.as_os_str().len() < 60, "{far:?}");
        assert_ne!(far, socket_dir(Path::new(&format!("/srv/{}", "y".repeat(80)))));
    }
}
