//! The HTTP client of the command line: for `send`, `health` and the API of an appliance elsewhere. It has limits, follows no redirects and uses no proxy:
//! what is measured and shown is the address that was asked for.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use reqwest::{Client, Response, redirect};

/// Bytes of an answer that are read; Oncehook's own are below 4 KiB.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// A client that keeps up to `connections` of them.
///
/// # Errors
/// When TLS cannot be set up.
pub fn client(connections: usize, timeout: Duration) -> anyhow::Result<Client> {
    #[expect(clippy::disallowed_methods, reason = "the one client of the command line, with its limits")]
    let builder = Client::builder();
    builder
        .redirect(redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .tcp_nodelay(true)
        .pool_max_idle_per_host(connections)
        .connect_timeout(Duration::from_secs(5).min(timeout))
        .timeout(timeout)
        .build()
        .context("failed to set up the HTTP client")
}

/// The beginning of an answer's body.
///
/// # Errors
/// When the connection breaks before its end.
pub async fn read_answer(response: Response) -> reqwest::Result<Vec<u8>> {
    read_up_to(response, ANSWER_BYTES_MAX).await
}

/// The beginning of an answer's body, up to so many bytes.
///
/// # Errors
/// When the connection breaks before its end.
pub async fn read_up_to(mut response: Response, bytes_max: usize) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() >= bytes_max {
            body.truncate(bytes_max);
            break;
        }
    }
    Ok(body)
}

/// Why a request failed, in the words of the innermost layers; the outermost only repeats the URL.
#[must_use]
pub fn causes(error: &reqwest::Error) -> String {
    let first = std::error::Error::source(error);
    let causes: Vec<_> = std::iter::successors(first, |cause| cause.source()).map(ToString::to_string).collect();
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}

/// Where a process on this machine reaches a server that listens on `listen`: loopback where that is "everywhere".
#[must_use]
pub fn local_address(listen: SocketAddr) -> SocketAddr {
    let mut address = listen;
    if listen.ip().is_unspecified() {
        address.set_ip(if listen.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_asked_on_loopback() {
        for (listen, local) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("192.0.2.1:80", "192.0.2.1:80")]
        {
            assert_eq!(local_address(listen.parse().unwrap()), local.parse().unwrap());
        }
    }
}
