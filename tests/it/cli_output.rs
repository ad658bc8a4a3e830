//! What the command line writes, and where: colours on terminals only, nothing after the reader has gone, manual pages, and a page in
//! docs/ that misses nothing.

use std::process::Stdio;

use crate::support::{app::TestApp, terminal::Terminal};

/// Runs a line at a pseudo-terminal, by `script` of util-linux.
async fn at_a_terminal(terminal: &Terminal, line: &str) -> String {
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_oncehook"));
    let output = terminal.program("script").args(["-qec", &command, "/dev/null"]).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{line}: {text}");
    text
}

#[tokio::test]
async fn colours_are_written_to_a_terminal_only_and_never_where_they_are_not_wanted() {
    let app = TestApp::start().await;
    let new = || Terminal::on(app.test_database().url());
    let coloured = at_a_terminal(&new().with("TERM", "xterm"), "routes").await;
    assert!(coloured.contains("\u{1b}[32mopen\u{1b}[0m"), "{coloured:?}");
    for (terminal, line) in [
        (new().with("TERM", "xterm").with("NO_COLOR", "1"), "routes"),
        (new().with("TERM", "dumb"), "routes"),
        (new().with("TERM", "xterm"), "routes --no-color"),
        (new().with("TERM", "xterm"), "routes --json"),
    ] {
        let text = at_a_terminal(&terminal, line).await;
        assert!(text.contains("github-demo") && !text.contains('\u{1b}'), "{line}: {text:?}");
    }
    let piped = new().with("TERM", "xterm").stdout("routes").await;
    assert!(piped.contains("open") && !piped.contains('\u{1b}'), "{piped:?}");
}

#[tokio::test]
async fn a_reader_that_goes_away_is_no_failure() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/none");
    let mut child =
        terminal.command(&["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[tokio::test]
async fn manual_pages_are_written_for_every_subcommand() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/none");
    assert!(terminal.stdout("man").await.contains(".TH oncehook 1"));
    let written = terminal.json("man --out pages").await;
    let names: Vec<_> = written.as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(names.contains(&"pages/oncehook-dead-letters-discard.1") && names.len() > 40, "{names:?}");
}

#[tokio::test]
async fn the_token_is_never_shown_in_the_help() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/none").with("ONCEHOOK_TOKEN", "canary");
    for line in ["--help", "receipts --help", "help dead-letters discard", "check"] {
        let output = terminal.run(line).await;
        let said = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("canary"), "{line}");
    }
}
