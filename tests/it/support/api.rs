//! A program that uses `/api/v1`, and holds each answer against the API's description.

use std::sync::OnceLock;

use oncehook::admin::api::describe;
use reqwest::Method;
use serde_json::Value;

use super::{
    app::TestApp,
    schema,
    sender::Reply,
    visitor::{KEEPER, VIEWER, Visitor, reply},
};

/// Somebody with a token.
pub struct Program {
    visitor: Visitor,
    token: &'static str,
}

impl TestApp {
    /// A program that may do everything. The appliance has the two tokens in its configuration.
    pub fn keeper(&self) -> Program {
        Program { visitor: self.visitor(), token: KEEPER }
    }

    /// A program that may look.
    pub fn viewer(&self) -> Program {
        Program { visitor: self.visitor(), token: VIEWER }
    }

    /// With the two tokens, and `more` TOML behind the usual configuration.
    pub async fn start_with_api(more: &str) -> Self {
        let tokens = super::visitor::TOKENS;
        Self::start_from(&format!("{}\n{more}", Self::config_with("[admin]", tokens))).await
    }
}

impl Program {
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.visitor.request(method, &format!("/api/v1{path}")).bearer_auth(self.token)
    }

    /// Looks.
    pub async fn get(&self, path: &str) -> Reply {
        checked(Method::GET, path, reply(self.request(Method::GET, path)).await)
    }

    /// Looks, and sees that it is there.
    pub async fn see(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        reply.json()
    }

    /// Gives an order under a key.
    pub async fn post(&self, path: &str, key: &str, body: &Value) -> Reply {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        checked(Method::POST, path, reply(request).await)
    }
}

/// Sees that an answer is one of those that the description has for this operation.
pub fn checked(method: Method, path: &str, reply: Reply) -> Reply {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    let description = DESCRIPTION.get_or_init(describe);
    let bare = path.split('?').next().unwrap();
    let Some(operation) = operation(description, &method, bare) else { return reply };
    let described = &operation["responses"][reply.status.to_string()];
    assert!(described.is_object(), "{method} {path}: {} is not described: {}", reply.status, reply.text);
    let content_type = reply.header("content-type").unwrap_or_default();
    let content = &described["content"][&content_type];
    assert!(content.is_object(), "{method} {path}: {} as {content_type} is not described", reply.status);
    if content_type.ends_with("json") {
        let found = schema::mistakes(description, &content["schema"], &reply.json());
        assert!(found.is_empty(), "{method} {path}: {}\n{}\n{}", reply.status, reply.text, found.join("\n"));
    }
    reply
}

fn operation<'d>(description: &'d Value, method: &Method, path: &str) -> Option<&'d Value> {
    let paths = description["paths"].as_object().unwrap();
    let is_it = |template: &str| {
        let (parts, names): (Vec<_>, Vec<_>) = (path.split('/').collect(), template.split('/').collect());
        parts.len() == names.len() && parts.iter().zip(names).all(|(part, name)| *part == name || name.starts_with('{'))
    };
    let exact = paths.get(path);
    let found = exact.or_else(|| paths.iter().find(|(template, _)| is_it(template)).map(|(_, item)| item));
    found.and_then(|item| item.get(method.as_str().to_lowercase()))
}
