//! Somebody at the operator's port: a program with a token, or a person with a browser.

use oncehook::{
    app::App,
    clock::Clock,
    config::{self, Environment, LoadOptions},
    domain::TokenName,
    operate::{self, Operator, Role, Via},
};
use reqwest::{Client, Method, RequestBuilder, redirect::Policy};

use super::{
    app::{DEPOT_TOKEN, SHOP_TOKEN, TestApp},
    sender::Reply,
};

/// What the tokens `viewer` (read) and `keeper` (operate) are in a configuration.
pub const TOKENS: &str = "tokens.viewer = { role = \"read\", secret = { env = \"SHOP_TOKEN\" } }\n\
                          tokens.keeper = { role = \"operate\", secret = { env = \"DEPOT_TOKEN\" } }";
/// The token of the configuration that may look.
pub const VIEWER: &str = SHOP_TOKEN;
/// The token of the configuration that may do everything.
pub const KEEPER: &str = DEPOT_TOKEN;

/// A client that keeps no cookies and follows nothing.
#[derive(Clone)]
pub struct Visitor {
    url: String,
    client: Client,
}

/// A browser in which somebody has signed in.
#[derive(Clone)]
pub struct Browser {
    visitor: Visitor,
    pub cookie: String,
}

impl TestApp {
    /// With the two tokens in its configuration, and `more` lines about the operator's port.
    pub async fn start_with_tokens(more: &str) -> Self {
        Self::start_from(&Self::config_with("[admin]", &format!("{TOKENS}\n{more}"))).await
    }

    /// Somebody at the operator's port.
    pub fn visitor(&self) -> Visitor {
        Visitor::to(&format!("http://{}", self.app().admin_address()))
    }

    /// A token in the database, made as the command line makes it.
    pub async fn token(&self, name: &str, role: Role, lasts: Option<std::time::Duration>) -> String {
        let by = Operator { name: "test".to_owned(), role: Role::Operate, via: Via::CommandLine };
        let name: TokenName = name.parse().unwrap();
        let made = operate::create_token(&mut self.database().await, &name, role, lasts, &by).await;
        made.unwrap().expose().to_owned()
    }
}

impl Visitor {
    pub fn to(url: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the operator's client, not ours")]
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { url: url.to_owned(), client }
    }

    /// `http://127.0.0.1:1234`: the origin of our own pages.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.request(Method::POST, path)
    }

    /// Posts the sign-in form, as a browser does.
    pub fn login(&self, token: &str, next: &str) -> RequestBuilder {
        fill_in(self.post("/login").header("origin", &self.url), &[("token", token), ("next", next)])
    }

    /// A browser in which the holder of `token` has signed in.
    pub async fn sign_in(&self, token: &str) -> Browser {
        let reply = reply(self.login(token, "/")).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        Browser { visitor: self.clone(), cookie: cookie_of(&reply) }
    }
}

impl Browser {
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.visitor.get(path).header("cookie", &self.cookie)
    }

    /// A form from one of our own pages, but without its token.
    pub fn post(&self, path: &str) -> RequestBuilder {
        self.visitor.post(path).header("cookie", &self.cookie).header("origin", self.visitor.url())
    }

    /// What our own pages know of this session: SHA-256 over a label and the key.
    pub fn form_token(&self) -> String {
        use sha2::Digest as _;
        let key = hex::decode(self.cookie.split_once('=').unwrap().1).unwrap();
        hex::encode(sha2::Sha256::new().chain_update(b"oncehook form\0").chain_update(key).finalize())
    }

    /// Whether the session is good.
    pub async fn is_signed_in(&self) -> bool {
        // A path that is nobody's: who is let in learns that.
        match status(self.get("/api/v1/nothing-here")).await {
            401 => false,
            404 => true,
            other => panic!("{other}"),
        }
    }
}

/// A request with the fields of a form.
pub fn fill_in(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    request.header("content-type", "application/x-www-form-urlencoded").body(body)
}

/// The session's cookie in an answer.
pub fn cookie_of(reply: &Reply) -> String {
    let line = reply.headers.get("set-cookie").unwrap_or_else(|| panic!("no cookie in {reply:?}")).to_str().unwrap();
    line.split(';').next().unwrap().to_owned()
}

pub async fn reply(request: RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Reply { status, headers, text: response.text().await.unwrap() }
}

pub async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

/// A process on the same database that lets everybody on this machine in.
pub async fn without_auth(app: &TestApp) -> App {
    let mut config = config::load(&shipped("127.0.0.1:0")).unwrap().config;
    config.admin.no_auth = true;
    start_on(app, config, app.clock().clone()).await.unwrap()
}

/// A configuration of one source and nothing else, with the operator's port at `listen`.
pub fn shipped(listen: &str) -> LoadOptions {
    let folder = tempfile::tempdir().unwrap().keep();
    let file = folder.join("oncehook.toml");
    let data_dir = folder.join("data");
    let text = format!(
        "data_dir = {data_dir:?}\n[admin]\nlisten = {listen:?}\n[sources.github]\nprovider = \"github\"\nsecrets = [{{ generated = true }}]"
    );
    std::fs::write(&file, text).unwrap();
    LoadOptions { file: Some(file), environment: Environment::default(), may_generate: false }
}

/// A process on the database of `app` that does nothing but serve operators.
pub async fn start_on(app: &TestApp, mut config: config::Config, clock: Clock) -> anyhow::Result<App> {
    config.database.url = Some(app.test_database().url().to_owned().into());
    App::start(config, clock, oncehook::app::Role { receives: false, works: false }).await
}
