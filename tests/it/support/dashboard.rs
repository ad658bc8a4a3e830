//! Somebody who looks at the pages without JavaScript: follows links and fills in forms, and sees to it that every page on the
//! way is inert and accessible.

use super::{
    app::TestApp,
    markup::{Form, Markup},
    sender::Reply,
    visitor::{Browser, KEEPER, TOKENS, VIEWER, fill_in, reply},
};

/// An operator with a browser, and the appliance.
pub struct Dashboard {
    pub app: TestApp,
    browser: Browser,
}

impl Dashboard {
    /// The appliance of the tests, and an operator who may do everything.
    pub async fn open() -> Self {
        Self::open_with("").await
    }

    /// With `more` in its configuration.
    pub async fn open_with(more: &str) -> Self {
        Self::of(TestApp::start_from(&format!("{}\n{more}", TestApp::config_with("[admin]", TOKENS))).await).await
    }

    /// Of an appliance with the tokens of the tests.
    pub async fn of(app: TestApp) -> Self {
        let browser = app.visitor().sign_in(KEEPER).await;
        Self { app, browser }
    }

    /// The same as somebody who may only look.
    pub async fn only_looking(self) -> Self {
        let browser = self.app.visitor().sign_in(VIEWER).await;
        Self { browser, ..self }
    }

    /// An address that has a page.
    pub async fn page(&self, path: &str) -> Markup {
        let reply = reply(self.browser.get(path)).await;
        assert_eq!(reply.status, 200, "{path}: {}", Markup::read(&reply.text).text);
        looked_at(&reply)
    }

    /// Whatever an address answers.
    pub async fn get(&self, path: &str) -> Reply {
        reply(self.browser.get(path)).await
    }

    /// An address that leads elsewhere.
    pub async fn led_to(&self, path: &str) -> String {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 303, "{path}: {}", reply.text);
        reply.headers["location"].to_str().unwrap().to_owned()
    }

    /// Fills in a form and sends it, and gives whatever comes back.
    pub async fn send(&self, form: &Form, more: &[(&str, &str)]) -> Reply {
        let mut fields: Vec<(&str, &str)> = form.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        fields.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        fields.extend(more);
        if form.method == "post" {
            return reply(fill_in(self.browser.post(&form.action), &fields)).await;
        }
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        reply(self.browser.get(&format!("{}?{query}", form.action))).await
    }

    /// Sends the form of a page that asks, and looks at the page that it leads to.
    pub async fn confirm(&self, path: &str, button: &str, reason: &str) -> (String, Markup) {
        let asked = self.page(path).await;
        let action = asked
            .all("form")
            .map(|form| form.get("action").to_owned())
            .find(|action| !["/search", "/logout"].contains(&&**action));
        let form = asked.form(&action.expect("the page asks"));
        assert!(form.buttons.iter().any(|known| known == button), "{:?} is not {button:?}", form.buttons);
        let reply = self.send(&form, &[("reason", reason)]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let place = reply.headers["location"].to_str().unwrap().to_owned();
        let page = self.page(place.split('#').next().unwrap()).await;
        (place, page)
    }
}

/// The page of an answer, after a look at what every page must be.
pub fn looked_at(reply: &Reply) -> Markup {
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let markup = Markup::read(&reply.text);
    markup.assert_inert();
    markup.assert_accessible();
    markup
}
