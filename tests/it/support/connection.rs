//! A connection on which a test writes whatever bytes it likes, and reads answers one by one.

use std::{net::SocketAddr, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::sender::Reply;

/// After this an answer counts as never given, so that a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// One TCP connection to an appliance.
pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    pub async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, unread: Vec::new() }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Like [`send`](Self::send), to one who may have hung up meanwhile; tells whether it took the bytes.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    /// Says that nothing more will be sent.
    pub async fn end_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// The next answer, interim ones (100) included; `None` when the connection ends first.
    pub async fn answer(&mut self) -> Option<Reply> {
        self.answer_to("POST").await
    }

    /// The next answer to a request of this method: what answers a HEAD has no body.
    pub async fn answer_to(&mut self, method: &str) -> Option<Reply> {
        let end = loop {
            match self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None if self.read_more().await => {}
                None => return None,
            }
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status: u16 = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HeaderMap = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect();
        let announced = headers.get("content-length").map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        let length = if method == "HEAD" { 0 } else { announced };
        while self.unread.len() < length {
            assert!(self.read_more().await, "the answer broke off: {head}");
        }
        let text = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        Some(Reply { status, headers, text })
    }

    /// Whether the other side ends the connection without another byte.
    pub async fn ends(&mut self) -> bool {
        !self.read_more().await && self.unread.is_empty()
    }

    async fn read_more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let read = timeout(PATIENCE, self.stream.read(&mut buffer)).await.expect("an answer, or an end");
        let read = read.unwrap_or(0);
        self.unread.extend_from_slice(&buffer[..read]);
        read > 0
    }
}
