//! HTML as a browser's tokenizer reads it, with what every page of ours must be: inert whatever a payload holds, and usable
//! with a keyboard and a screen reader.

use std::collections::{BTreeMap, BTreeSet};

use html5gum::{Token, Tokenizer};

/// One start tag, with the text up to the next tag.
#[derive(Debug, Clone)]
pub struct Tag {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// What stands between this tag and its end, without tags.
    pub text: String,
    /// How deep in which form it stands.
    pub form: Option<usize>,
}

/// A page.
#[derive(Debug, Clone)]
pub struct Markup {
    pub tags: Vec<Tag>,
    /// All text outside of tags.
    pub text: String,
}

/// A form, filled in as the server sent it.
#[derive(Debug, Clone)]
pub struct Form {
    pub action: String,
    pub method: String,
    pub fields: Vec<(String, String)>,
    pub buttons: Vec<String>,
}

/// Elements that have no end.
const VOID: [&str; 6] = ["meta", "link", "input", "br", "hr", "img"];

impl Markup {
    pub fn read(html: &str) -> Self {
        let (mut tags, mut text, mut open) = (Vec::<Tag>::new(), String::new(), Vec::<usize>::new());
        for token in Tokenizer::new(html) {
            match token.unwrap() {
                Token::StartTag(tag) => {
                    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let name = word(&tag.name);
                    let attributes = tag.attributes.iter().map(|(name, value)| (word(name), word(value))).collect();
                    let form = open.iter().rev().copied().find(|at| tags[*at].name == "form");
                    if !VOID.contains(&name.as_str()) && !tag.self_closing {
                        open.push(tags.len());
                    }
                    tags.push(Tag { name, attributes, text: String::new(), form });
                }
                Token::EndTag(tag) => {
                    let name = String::from_utf8_lossy(&tag.name).into_owned();
                    let at = open.iter().rposition(|at| tags[*at].name == name);
                    let at = at.unwrap_or_else(|| panic!("</{name}> ends nothing"));
                    assert_eq!(
                        at + 1,
                        open.len(),
                        "</{name}> ends before what is in it: {:?}",
                        tags[open[open.len() - 1]]
                    );
                    open.pop();
                }
                Token::String(part) => {
                    let part = String::from_utf8_lossy(&part).into_owned();
                    open.iter().for_each(|at| tags[*at].text.push_str(&part));
                    text.push_str(&part);
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "not ended: {:?}", open.iter().map(|at| &tags[*at].name).collect::<Vec<_>>());
        Self { tags, text }
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Tag> {
        self.tags.iter().filter(move |tag| tag.name == name)
    }

    /// Links with this text in them.
    pub fn link(&self, text: &str) -> String {
        let link = self.all("a").find(|tag| tag.text.contains(text));
        link.unwrap_or_else(|| panic!("no link says {text:?}")).attributes["href"].clone()
    }

    /// The form that goes there, as it was sent.
    pub fn form(&self, action: &str) -> Form {
        let found = self.tags.iter().enumerate().find(|(_, tag)| tag.name == "form" && tag.get("action") == action);
        let (place, form) = found.unwrap_or_else(|| panic!("no form goes to {action}"));
        let inside: Vec<&Tag> = self.tags.iter().filter(|tag| tag.form == Some(place)).collect();
        let filled = inside.iter().filter(|tag| tag.name == "input" && tag.get("type") != "checkbox");
        Form {
            action: action.to_owned(),
            method: form.get("method").to_owned(),
            fields: filled.map(|tag| (tag.get("name").to_owned(), tag.get("value").to_owned())).collect(),
            buttons: inside.iter().filter(|tag| tag.name == "button").map(|tag| tag.text.clone()).collect(),
        }
    }

    /// No code but our one file, no style but our one sheet, no address that is code.
    pub fn assert_inert(&self) {
        for tag in &self.tags {
            for (name, value) in &tag.attributes {
                assert!(!name.starts_with("on") && name != "style" && name != "srcdoc", "{tag:?}");
                let address: String =
                    value.chars().filter(|letter| !letter.is_ascii_control() && *letter != ' ').collect();
                let is_address = ["href", "src", "action", "formaction", "xlink:href", "data"].contains(&name.as_str());
                assert!(!is_address || address.starts_with('/') || address.starts_with('#'), "{tag:?}");
            }
            match tag.name.as_str() {
                "script" => assert!(tag.get("src").starts_with("/static/") && tag.text.trim().is_empty(), "{tag:?}"),
                "style" | "iframe" | "object" | "embed" | "base" | "img" | "template" | "math" | "foreignobject" => {
                    panic!("{tag:?}")
                }
                _ => {}
            }
        }
        assert_eq!(self.all("script").count(), 1, "one script");
    }

    /// What axe-core would look for: a language, one h1, headings without gaps, a name for everything that can be used, no tab
    /// order of its own, ids that are there once.
    pub fn assert_accessible(&self) {
        assert_eq!(self.all("html").next().unwrap().get("lang"), "en");
        assert!(!self.all("title").next().unwrap().text.trim_start_matches(" ·").is_empty());
        self.assert_headings();
        self.assert_names();
        let mut ids = BTreeSet::new();
        for tag in self.tags.iter().filter(|tag| !tag.get("id").is_empty()) {
            assert!(ids.insert(tag.get("id")), "two have the id {}", tag.get("id"));
        }
        for tag in &self.tags {
            for reference in ["for", "aria-labelledby", "aria-describedby"] {
                let named = tag.get(reference).split_whitespace();
                named.for_each(|id| assert!(ids.contains(id), "{id} of {tag:?} is not there"));
            }
            assert!(["", "0", "-1"].contains(&tag.get("tabindex")), "{tag:?}");
        }
        let skip = self.all("a").next().unwrap();
        assert_eq!(skip.get("href"), "#main", "the first link skips the navigation");
        assert!(self.tags.iter().any(|tag| tag.name == "main" && tag.get("id") == "main"));
    }

    fn assert_headings(&self) {
        assert_eq!(self.all("h1").count(), 1, "one h1: {}", self.text);
        let levels = self.tags.iter().filter_map(|tag| tag.name.strip_prefix('h')?.parse::<u8>().ok());
        let mut before = 0;
        for level in levels {
            assert!(level <= before + 1, "h{level} follows h{before}");
            before = level;
        }
    }

    fn assert_names(&self) {
        let labelled: BTreeSet<&str> = self.all("label").map(|tag| tag.get("for")).collect();
        for tag in &self.tags {
            let has_name = !tag.get("aria-label").is_empty() || !tag.get("aria-labelledby").is_empty();
            let is_named = match tag.name.as_str() {
                "input" if tag.get("type") == "hidden" => true,
                "input" | "select" | "textarea" => has_name || labelled.contains(tag.get("id")),
                "button" | "a" | "summary" | "th" | "h1" | "h2" | "h3" | "h4" => {
                    has_name || !tag.text.trim().is_empty()
                }
                "nav" | "progress" => has_name,
                "table" => self.all("caption").count() >= self.all("table").filter(|t| t.get("class") != "x").count(),
                "svg" => tag.get("aria-hidden") == "true" || (tag.get("role") == "img" && has_name),
                _ => true,
            };
            assert!(is_named, "nothing says what this is: {tag:?}");
        }
    }
}

impl Tag {
    /// An attribute; empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}
