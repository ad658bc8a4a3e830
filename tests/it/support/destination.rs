//! A destination that answers from a script and remembers what it got: a small HTTP/1.1 server that can also misbehave.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinHandle,
};

/// How to answer one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// This status, with a short body.
    Status(u16),
    /// This status, with header lines and a body.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// This status, once the gate has a permit.
    StatusAfter(u16, Arc<Semaphore>),
    /// These bytes, after which the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, after which the connection is reset.
    RawThenReset(Vec<u8>),
    /// The connection is reset without an answer.
    Reset,
    /// No answer, until the client goes away.
    Hang,
    /// These bytes, then no more, until the client goes away.
    RawThenHang(Vec<u8>),
    /// This status, and a body that never ends, as fast as it is read.
    Endless(u16),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// The first line, such as `POST /hooks HTTP/1.1`.
    pub request_line: String,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header that stands exactly once; panics when it is repeated.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(held, _)| held == name).map(|(_, value)| value.as_str());
        let first = values.next();
        assert!(values.next().is_none(), "{name} was sent twice");
        first
    }
}

/// The destination. Dropping it stops the listener and every connection.
#[derive(Debug)]
pub struct TestDestination {
    address: SocketAddr,
    script: Arc<Mutex<VecDeque<Reply>>>,
    received: watch::Receiver<Vec<Received>>,
    server: JoinHandle<()>,
}

impl TestDestination {
    /// Starts on a free port. After the script's last line it answers 200 to everything.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), script).await
    }

    /// Starts at an address, such as the one that a destination had before it was stopped.
    pub async fn start_at(address: SocketAddr, script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(address).await.expect("the destination's port is free");
        let address = listener.local_addr().unwrap();
        let script: Arc<Mutex<VecDeque<Reply>>> = Arc::new(Mutex::new(script.into_iter().collect()));
        let (log, received) = watch::channel(Vec::new());
        let server = tokio::spawn(accept(listener, Arc::clone(&script), Arc::new(log)));
        Self { address, script, received, server }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The url to configure.
    pub fn url(&self) -> url::Url {
        format!("http://{}/hooks", self.address).parse().unwrap()
    }

    /// Adds a line to the script.
    pub fn then(&self, reply: Reply) {
        self.script.lock().unwrap().push_back(reply);
    }

    /// Everything received so far, in the order in which the requests were complete.
    pub fn received(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }

    /// Waits until `count` requests have come, and gives all of them. Panics after a minute.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        let mut received = self.received.clone();
        let enough = received.wait_for(|all| all.len() >= count);
        let waited = tokio::time::timeout(std::time::Duration::from_secs(60), enough).await;
        let all =
            waited.unwrap_or_else(|_| panic!("{} of {count} requests came within a minute", self.received().len()));
        all.expect("the destination is running").clone()
    }

    /// Stops it: from now on connections are refused.
    pub async fn stop(mut self) -> SocketAddr {
        self.server.abort();
        let _ = (&mut self.server).await;
        self.address
    }
}

impl Drop for TestDestination {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn accept(listener: TcpListener, script: Arc<Mutex<VecDeque<Reply>>>, log: Arc<watch::Sender<Vec<Received>>>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, Arc::clone(&script), Arc::clone(&log)));
    }
}

async fn serve(
    stream: TcpStream,
    script: Arc<Mutex<VecDeque<Reply>>>,
    log: Arc<watch::Sender<Vec<Received>>>,
) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    while let Some(request) = read_request(&mut stream).await? {
        // The line of the script is taken and the request logged together, so that both have the same order.
        let reply = {
            let mut script = script.lock().unwrap();
            log.send_modify(|all| all.push(request));
            script.pop_front().unwrap_or(Reply::Status(200))
        };
        if !answer(&mut stream, reply).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads one request with a `Content-Length`; `None` when the client has closed the connection.
async fn read_request(stream: &mut BufStream<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let mut lines = lines.into_iter();
    let request_line = lines.next().unwrap_or_default();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Received { request_line, headers, body }))
}

/// Plays one line of the script. Gives whether the connection takes another request.
async fn answer(stream: &mut BufStream<TcpStream>, reply: Reply) -> std::io::Result<bool> {
    match reply {
        Reply::Status(status) => {
            write_answer(stream, status, &[], b"{}").await?;
            return Ok(true);
        }
        Reply::Answer(status, headers, body) => {
            write_answer(stream, status, &headers, &body).await?;
            return Ok(true);
        }
        Reply::StatusAfter(status, gate) => {
            gate.acquire().await.expect("the gate is never closed").forget();
            write_answer(stream, status, &[], b"{}").await?;
            return Ok(true);
        }
        Reply::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
        }
        Reply::RawThenReset(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            stream.get_ref().set_zero_linger()?;
        }
        Reply::Reset => stream.get_ref().set_zero_linger()?,
        Reply::Hang => until_closed(stream).await,
        Reply::RawThenHang(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            until_closed(stream).await;
        }
        Reply::Endless(status) => {
            stream.write_all(format!("HTTP/1.1 {status} x\r\n\r\n").as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
    }
    Ok(false)
}

async fn write_answer(
    stream: &mut BufStream<TcpStream>,
    status: u16,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} x\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if status != 204 && status != 304 {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    if status != 204 && status != 304 {
        stream.write_all(body).await?;
    }
    stream.flush().await
}

async fn until_closed(stream: &mut BufStream<TcpStream>) {
    let mut ignored = [0; 1024];
    while matches!(stream.read(&mut ignored).await, Ok(count) if count > 0) {}
}
