//! One of a team's own producers: posts commands to an `api` source and looks at what became of them.

use super::{
    app::TestApp,
    connection::Connection,
    sender::{Letter, Reply},
};

impl TestApp {
    /// A command to the source `orders` with this bearer token.
    pub fn command(&self, token: &str, key: &str, body: &str) -> Letter {
        let letter = self.sender().standard(body).source("orders").unsigned();
        letter.header("idempotency-key", key).header("authorization", format!("Bearer {token}"))
    }

    /// A command to the source `orders` that is signed with this secret.
    pub fn signed_command(&self, secret: &str, key: &str, body: &str) -> Letter {
        self.sender().standard(body).source("orders").id(key).signed_with(secret)
    }

    /// What `GET` of this path with these header lines gives.
    pub async fn look(&self, path: &str, lines: &[(String, Vec<u8>)]) -> Reply {
        let mut wire = Connection::to(self.sender().address()).await;
        let mut head = format!("GET {path} HTTP/1.1\r\nhost: hooks.example.com\r\n").into_bytes();
        for (name, value) in lines {
            head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        head.extend_from_slice(b"\r\n");
        wire.send(head).await;
        wire.answer().await.unwrap()
    }

    /// The same with a bearer token.
    pub async fn look_with(&self, path: &str, token: &str) -> Reply {
        self.look(path, &[("authorization".to_owned(), format!("Bearer {token}").into_bytes())]).await
    }
}

impl Reply {
    /// Where to look at the command.
    pub fn location(&self) -> String {
        self.header("location").unwrap_or_default()
    }

    /// One header line.
    pub fn header(&self, name: &str) -> Option<String> {
        Some(self.headers.get(name)?.to_str().unwrap().to_owned())
    }
}
