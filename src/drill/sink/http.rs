//! A small HTTP server that does what no proper one would do: keep silent, and break off in the middle of an answer. It shares
//! no code with the product's own.

use std::time::Duration;

use anyhow::Context as _;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

/// The drill's own messages are below a tenth of it.
const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
const HEADERS_MAX: usize = 200;
/// Longer than any time-out of the drill's destinations.
const SILENCE: Duration = Duration::from_secs(20);

/// A request.
#[derive(Debug)]
pub struct Call {
    headers: Vec<(String, String)>,
    /// As it came.
    pub body: Vec<u8>,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy)]
pub enum Reply {
    /// An answer with this status.
    Status(u16),
    /// None, until the caller goes away.
    Hang,
    /// The head of an answer with 200, and a reset instead of its body.
    Reset,
}

impl Call {
    /// A header's value; names are lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Takes calls until the listener fails.
///
/// # Errors
/// When it does.
pub async fn serve<H, F>(listener: TcpListener, handle: H) -> anyhow::Result<()>
where
    H: Fn(Call) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await.context("a sink cannot accept")?;
        let handle = handle.clone();
        tokio::spawn(async move {
            // A caller that was killed, or that does not speak HTTP, is not the sink's business.
            let _ = converse(stream, handle).await;
        });
    }
}

async fn converse<H, F>(stream: TcpStream, handle: H) -> anyhow::Result<()>
where
    H: Fn(Call) -> F,
    F: Future<Output = Reply>,
{
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(call) = read_call(&mut stream).await? {
        match handle(call).await {
            Reply::Status(status) => {
                let answer = format!("HTTP/1.1 {status} Drill\r\ncontent-length: 2\r\n\r\nok");
                stream.write_all(answer.as_bytes()).await?;
            }
            Reply::Hang => {
                let _ = tokio::time::timeout(SILENCE, stream.read_u8()).await;
                return Ok(());
            }
            Reply::Reset => {
                stream.write_all(b"HTTP/1.1 200 Drill\r\ncontent-length: 100\r\n\r\nhalf").await?;
                stream.get_ref().set_zero_linger()?;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads one request; `None` when the caller is done.
async fn read_call(stream: &mut BufReader<TcpStream>) -> anyhow::Result<Option<Call>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        line.clear();
        let read = stream.read_line(&mut line).await?;
        let text = line.trim_end();
        if text.is_empty() {
            anyhow::ensure!(read > 0, "the caller went away");
            break;
        }
        let (name, value) = text.split_once(':').context("no header line")?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        anyhow::ensure!(headers.len() <= HEADERS_MAX, "too many headers");
    }
    let mut call = Call { headers, body: Vec::new() };
    let length = call.header("content-length").map_or(Ok(0), str::parse)?;
    anyhow::ensure!(length <= BODY_BYTES_MAX && call.header("transfer-encoding").is_none(), "not our kind of body");
    call.body.resize(length, 0);
    stream.read_exact(&mut call.body).await?;
    Ok(Some(call))
}
