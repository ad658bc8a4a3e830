//! What `serve` and `work` print when they are up: what runs where, secrets that were made just now, and what to type next.
//! Pure; it shows each new secret once, on purpose.

use std::{net::SocketAddr, path::PathBuf};

use secrecy::ExposeSecret as _;

use super::http_client::local_address;
use crate::{
    config::{Config, GeneratedSecret},
    domain::OperatorToken,
    operate::FIRST_TOKEN,
    provider::Provider,
};

/// The facts of a start.
pub(super) struct Banner {
    /// Where webhooks are taken, if they are.
    pub(super) intake: Option<SocketAddr>,
    /// Where operators look.
    pub(super) admin: Option<SocketAddr>,
    /// An operator's token that was made just now.
    pub(super) first_token: Option<OperatorToken>,
    /// Whether everybody on this machine is an operator.
    no_auth: bool,
    /// How the operator called this program.
    program: String,
    origin: String,
    database: String,
    sources: Vec<(String, Provider)>,
    warnings: Vec<String>,
    secrets: Vec<String>,
    secret_files: Vec<PathBuf>,
}

impl Banner {
    /// What can be told before the start.
    pub(super) fn of(config: &Config, origin: &str, generated: &[GeneratedSecret]) -> Self {
        let database = match &config.database.url {
            Some(_) => "the configured PostgreSQL".to_owned(),
            None => format!("an embedded PostgreSQL in {}", config.data_dir.display()),
        };
        Self {
            intake: None,
            admin: None,
            first_token: None,
            no_auth: config.admin.no_auth,
            program: program(),
            origin: origin.to_owned(),
            database,
            sources: config.sources.values().map(|source| (source.name.to_string(), source.provider)).collect(),
            warnings: config.warnings.clone(),
            secrets: generated.iter().map(secret).collect(),
            secret_files: generated.iter().map(|generated| generated.path.clone()).collect(),
        }
    }

    /// The same for scripts, on one line: the process goes on, and whoever reads its output need not wait for the end.
    /// A new secret is named by its file only: what a script reads is kept in logs.
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "status": "running",
            "version": env!("CARGO_PKG_VERSION"),
            "intake": self.intake,
            "admin": self.admin,
            "sources": self.sources.iter().map(|(source, _)| source).collect::<Vec<_>>(),
            "warnings": self.warnings,
            "generated_secrets": self.secret_files,
            "no_auth": self.no_auth,
        })
    }

    /// The text.
    pub(super) fn view(&self) -> String {
        let mut lines = vec![format!("oncehook {} is running", env!("CARGO_PKG_VERSION")), String::new()];
        lines.push(format!("  configuration  {}", self.origin));
        lines.push(format!("  database       {}", self.database));
        if let Some(intake) = self.intake {
            let intake = local_address(intake);
            for (source, _) in &self.sources {
                lines.push(format!("  webhooks       http://{intake}/hooks/{source}"));
            }
        }
        if let Some(admin) = self.admin {
            lines.push(format!(
                "  operators      http://{}/ (pages), /api/v1, /metrics, /livez, /readyz",
                local_address(admin)
            ));
        }
        lines.extend(self.warnings.iter().map(|warning| format!("\nwarning: {warning}")));
        lines.extend(self.access());
        lines.extend(self.secrets.iter().cloned());
        if self.intake.is_some() {
            lines.push(String::new());
            lines.push("Try it, in another terminal and this folder:".to_owned());
            lines.extend(self.commands().iter().map(|command| format!("  {} {command}", self.program)));
        }
        lines.push(String::new());
        lines.push("Ctrl-C stops everything and keeps the data.".to_owned());
        lines.join("\n")
    }

    /// Who may use the operator's port, where that needs to be said.
    fn access(&self) -> Option<String> {
        let admin = local_address(self.admin?);
        if self.no_auth {
            return Some(format!(
                "\nwarning: --no-auth: everybody on this machine may see and change everything at http://{admin}/"
            ));
        }
        let token = self.first_token.as_ref()?;
        Some(format!(
            "\na token was made for operators (\"{FIRST_TOKEN}\", role operate); it is shown this once. Sign in with it at \
             http://{admin}/login\n  {}",
            token.expose()
        ))
    }

    fn commands(&self) -> Vec<String> {
        let mut commands: Vec<_> = [
            (Provider::GitHub, "send github push"),
            (Provider::Stripe, "send stripe invoice.paid"),
            (Provider::StandardWebhooks, "send standard_webhooks message.created"),
            (Provider::Api, "send api order.place"),
        ]
        .into_iter()
        .filter(|(provider, _)| self.sources.iter().any(|(_, other)| other == provider))
        .map(|(_, command)| command.to_owned())
        .collect();
        commands.extend(["receipts".to_owned(), "receipts show ID".to_owned()]);
        commands
    }
}

fn secret(generated: &GeneratedSecret) -> String {
    format!(
        "\na secret was made for {}; it is kept in {} and shown this once:\n  {}",
        generated.for_what,
        generated.path.display(),
        generated.secret.expose_secret()
    )
}

/// The program as it was called, so that the commands can be copied.
fn program() -> String {
    std::env::args().next().filter(|name| !name.chars().any(char::is_control)).unwrap_or_else(|| "oncehook".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner() -> Banner {
        Banner {
            intake: Some("0.0.0.0:8080".parse().unwrap()),
            admin: Some("127.0.0.1:8081".parse().unwrap()),
            first_token: None,
            no_auth: false,
            program: "./oncehook".to_owned(),
            origin: "/etc/oncehook/oncehook.toml".to_owned(),
            database: "an embedded PostgreSQL in data".to_owned(),
            sources: vec![("github".to_owned(), Provider::GitHub), ("shop".to_owned(), Provider::Stripe)],
            warnings: vec!["source shop has no route".to_owned()],
            secrets: vec![secret(&GeneratedSecret {
                for_what: "source github".to_owned(),
                path: "data/secrets/source-github".into(),
                secret: "0123456789abcdef".to_owned().into(),
            })],
            secret_files: vec!["data/secrets/source-github".into()],
        }
    }

    #[test]
    fn the_banner_says_what_to_type_next() {
        insta::assert_snapshot!(banner().view(), @"
        oncehook 0.1.0 is running

          configuration  /etc/oncehook/oncehook.toml
          database       an embedded PostgreSQL in data
          webhooks       http://127.0.0.1:8080/hooks/github
          webhooks       http://127.0.0.1:8080/hooks/shop
          operators      http://127.0.0.1:8081/ (pages), /api/v1, /metrics, /livez, /readyz

        warning: source shop has no route

        a secret was made for source github; it is kept in data/secrets/source-github and shown this once:
          0123456789abcdef

        Try it, in another terminal and this folder:
          ./oncehook send github push
          ./oncehook send stripe invoice.paid
          ./oncehook receipts
          ./oncehook receipts show ID

        Ctrl-C stops everything and keeps the data.
        ");
    }

    #[test]
    fn a_script_reads_the_addresses_on_one_line_and_no_secret() {
        insta::assert_snapshot!(banner().json(), @r#"{"status":"running","version":"0.1.0","intake":"0.0.0.0:8080","admin":"127.0.0.1:8081","sources":["github","shop"],"warnings":["source shop has no route"],"generated_secrets":["data/secrets/source-github"],"no_auth":false}"#);
    }

    #[test]
    fn a_process_that_takes_no_webhooks_suggests_sending_none() {
        let text = Banner { intake: None, secrets: vec![], warnings: vec![], ..banner() }.view();
        assert!(!text.contains("send") && !text.contains("/hooks/"), "{text}");
    }

    #[test]
    fn a_first_token_is_shown_to_people_and_not_to_scripts() {
        let token = OperatorToken::of([7; 32]);
        let banner = Banner { first_token: Some(token.clone()), ..banner() };
        assert!(banner.view().contains("Sign in with it at http://127.0.0.1:8081/login\n  och_0707"));
        assert!(!banner.json().to_string().contains(token.expose()));
    }

    #[test]
    fn no_auth_is_said_aloud() {
        let text = Banner { no_auth: true, ..banner() }.view();
        assert!(text.contains("warning: --no-auth: everybody on this machine may see and change everything"), "{text}");
    }
}
