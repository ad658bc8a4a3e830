//! Debian's Chromium, driven through chromedriver by the few commands of `WebDriver` that walks need. Where there is none,
//! walks say so and pass.

use std::{path::Path, process::Stdio, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use super::until::until;

const DRIVER: &str = "/usr/bin/chromedriver";
const BROWSER: &str = "/usr/bin/chromium";

/// How `WebDriver` names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// One window.
pub struct Chromium {
    session: String,
    client: reqwest::Client,
    driver: Child,
    _profile: TempDir,
}

impl Chromium {
    /// A fresh browser, or `None` (which is said) where there is none.
    pub async fn start() -> Option<Self> {
        if !Path::new(DRIVER).exists() || !Path::new(BROWSER).exists() {
            eprintln!("skipped: no {DRIVER} and {BROWSER}; on Debian: apt-get install chromium chromium-driver");
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new(DRIVER)
            .args(["--port=0", "--allowed-ips=127.0.0.1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next_line().await.unwrap().expect("chromedriver says its port");
            // It says first that it was asked for port 0.
            if let Some(port) = line.split("started successfully on port ").nth(1) {
                break port.trim_end_matches('.').to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        #[expect(clippy::disallowed_methods, reason = "this is the driver's client, not ours")]
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().unwrap();
        let folder = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-proxy-server",
            &folder,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "binary": BROWSER, "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let url = format!("http://127.0.0.1:{port}/session");
        let answer: Value = post(&client, &url, &wanted).await;
        let session = format!("{url}/{}", answer["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")));
        Some(Self { session, client, driver, _profile: profile })
    }

    async fn command(&self, path: &str, body: Value) -> Value {
        let answer = post(&self.client, &format!("{}{path}", self.session), &body).await;
        assert!(answer["error"].is_null(), "{path}: {answer}");
        answer
    }

    async fn ask(&self, path: &str) -> Value {
        let answer = self.client.get(format!("{}{path}", self.session)).send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["value"].clone()
    }

    /// Goes to an address and waits until the page is there.
    pub async fn go(&self, url: &str) {
        self.command("/url", json!({ "url": url })).await;
    }

    /// What a script in the page returns.
    pub async fn script(&self, script: &str) -> Value {
        self.command("/execute/sync", json!({ "script": script, "args": [] })).await
    }

    /// Waits until the page has a text.
    pub async fn sees(&self, text: &str) {
        let script = format!("return document.body.innerText.includes({})", json!(text));
        until(text, async || self.script(&script).await == json!(true)).await;
    }

    async fn element(&self, path: &str) -> String {
        let found = self.command("/element", json!({ "using": "xpath", "value": path })).await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// Presses a link or a button that says this, and waits for the page that it leads to.
    pub async fn press(&self, says: &str) {
        let path =
            format!("//*[(self::a or self::button) and contains(normalize-space(.), {says:?}) and not(@hidden)]");
        let element = self.element(&path).await;
        self.command(&format!("/element/{element}/click"), json!({})).await;
    }

    /// Fills in a field by the id that its label names.
    pub async fn fill(&self, id: &str, text: &str) {
        let element = self.element(&format!("//*[@id={id:?}]")).await;
        self.command(&format!("/element/{element}/clear"), json!({})).await;
        self.command(&format!("/element/{element}/value"), json!({ "text": text })).await;
    }

    /// Sets the size of the window, and light or dark.
    pub async fn show(&self, width: u32, height: u32, scheme: &str) {
        let dev_tools = "/goog/cdp/execute";
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.command(dev_tools, json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size })).await;
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.command(dev_tools, json!({ "cmd": "Emulation.setEmulatedMedia", "params": features })).await;
    }

    /// Keeps a picture of the whole page, as far as it is not endless.
    pub async fn picture(&self, path: &Path, width: u32, scheme: &str) {
        self.show(width, 900, scheme).await;
        let height =
            self.script("return document.documentElement.scrollHeight").await.as_u64().unwrap().clamp(600, 3_000);
        self.show(width, u32::try_from(height).unwrap(), scheme).await;
        let picture = self.ask("/screenshot").await;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, STANDARD.decode(picture.as_str().unwrap()).unwrap()).unwrap();
    }

    /// What the console has said since the last call: errors of scripts, and whatever the content security policy refused.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.command("/se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Ends it.
    pub async fn close(mut self) {
        let _ = self.client.delete(&self.session).send().await;
        let _ = self.driver.kill().await;
    }
}

async fn post(client: &reqwest::Client, url: &str, body: &Value) -> Value {
    let request = client.post(url).header("content-type", "application/json").body(body.to_string());
    let answer = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str::<Value>(&answer).unwrap_or_else(|_| panic!("{answer}"))["value"].clone()
}
