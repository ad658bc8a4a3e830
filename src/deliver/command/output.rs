//! What a program writes: standard output and standard error in one pipe, in the order written. Keeps the beginning,
//! drops the rest, and never lets the writer wait.

use std::{io, process::Stdio};

use bytes::Bytes;
use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};

use crate::domain::ANSWER_KEPT_BYTES;

/// Bytes read at a time: what a pipe holds.
const PIECE_BYTES: usize = 64 * 1024;

/// The reading end.
pub(super) struct Output {
    pipe: Receiver,
    kept: Vec<u8>,
    is_cut: bool,
}

impl Output {
    /// The reading end, with two writing ends for a program. Once the program has started, it and those that inherit from
    /// it must be the only ones who hold a writing end.
    pub(super) fn open() -> io::Result<(Self, Stdio, Stdio)> {
        let (reader, writer) = io::pipe()?;
        let second = writer.try_clone()?;
        let pipe = Receiver::from_owned_fd(reader.into())?;
        Ok((Self { pipe, kept: Vec::new(), is_cut: false }, writer.into(), second.into()))
    }

    /// Reads until every writer has closed its end. May be dropped and called again.
    pub(super) async fn read_to_end(&mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(length @ 1..) = self.pipe.read(&mut piece).await {
            let room = (ANSWER_KEPT_BYTES - self.kept.len()).min(length);
            self.kept.extend_from_slice(&piece[..room]);
            self.is_cut |= room < length;
        }
    }

    /// What is kept, and whether there was more.
    pub(super) fn into_kept(self) -> (Bytes, bool) {
        (self.kept.into(), self.is_cut)
    }
}
