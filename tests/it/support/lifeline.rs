//! A pipe that a script and everything it starts hold open: its end tells that all of them are gone.

use nix::sys::stat::Mode;
use tempfile::TempDir;
use tokio::{
    io::AsyncReadExt as _,
    net::unix::pipe::{OpenOptions, Receiver},
};

use super::until::in_time;

/// The reading end of the pipe, in a folder of its own.
pub struct Lifeline {
    folder: TempDir,
    reader: Receiver,
}

impl Lifeline {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lifeline");
        nix::unistd::mkfifo(&path, Mode::S_IRWXU).unwrap();
        let reader = OpenOptions::new().open_receiver(&path).unwrap();
        Self { folder, reader }
    }

    /// `script` with the pipe held open. `$up` in it tells the test that it has come so far; `$folder` is the folder.
    pub fn held_by(&self, script: &str) -> String {
        let folder = self.folder.path().display().to_string();
        let script = script.replace("$up", "echo up >&9").replace("$folder", &folder);
        format!("exec 9>{folder}/lifeline; {script}")
    }

    /// Waits until the script has said `$up`.
    pub async fn until_up(&mut self) {
        let mut said = [0; 3];
        in_time("the script is up", self.reader.read_exact(&mut said)).await.unwrap();
        assert_eq!(&said, b"up\n");
    }

    /// Waits until nobody holds the pipe. The script has been up.
    pub async fn until_all_are_gone(&mut self) {
        let mut rest = Vec::new();
        in_time("everything that the script started is gone", self.reader.read_to_end(&mut rest)).await.unwrap();
    }

    /// Whether the script made a file.
    pub fn has(&self, file: &str) -> bool {
        self.folder.path().join(file).exists()
    }
}
