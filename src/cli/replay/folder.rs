//! From paths on the command line to what is sent: finds `.http` files and what is expected of them, and the source of each.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::{
    cli::{
        export::expectations_beside,
        send::{
            addressee::{SecretOptions, choose_seal, choose_source},
            fresh_id::fresh_id,
            letter::Letter,
        },
    },
    config::{Config, Source},
    domain::{DeliveryId, SourceName},
    fixture::{Fixture, expect::Expectations},
    provider::Provider,
};

/// Bytes of fixtures that are kept; more would only show how the machine swaps.
const KEPT_BYTES_MAX: usize = 1 << 30;

/// Folders within folders; a deeper tree is a mistake.
const DEPTH_MAX: usize = 32;

/// A fixture that is ready to be sent.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its file, as given or found.
    pub(super) path: PathBuf,
    pub(super) letter: Letter,
    /// The id of each of its requests.
    pub(super) delivery_id: String,
    pub(super) url: url::Url,
    pub(super) expectations: Option<Expectations>,
}

/// What the command line says about addressing.
pub(super) struct Addressing<'a> {
    pub(super) config: &'a Config,
    pub(super) source: Option<&'a SourceName>,
    pub(super) secret: &'a SecretOptions,
    /// Where to post: a whole address, or one of an appliance, to which /hooks/SOURCE is added.
    pub(super) to: url::Url,
    pub(super) keep_ids: bool,
    pub(super) read_expectations: bool,
}

/// The `.http` files that the paths name or hold, each folder's in the order of their names.
///
/// # Errors
/// When there is none, or a path cannot be read.
pub(super) fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        let kind = std::fs::metadata(path).with_context(|| format!("failed to read {}", path.display()))?;
        if kind.is_dir() {
            walk(path, DEPTH_MAX, &mut found)?;
            anyhow::ensure!(found.len() > before, "there is no .http file in {}", path.display());
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let failed = || format!("failed to read the folder {}", folder.display());
    anyhow::ensure!(depth > 0, "{} is too deep: more than {DEPTH_MAX} folders", folder.display());
    let mut entries =
        std::fs::read_dir(folder).with_context(failed)?.collect::<Result<Vec<_>, _>>().with_context(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // A link to a folder is not followed: it may lead back.
        if entry.file_type().with_context(failed)?.is_dir() {
            walk(&entry.path(), depth - 1, found)?;
        } else if entry.path().extension().is_some_and(|extension| extension == "http") {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Reads all of them. What is wrong with any of them is told before anything is sent.
///
/// # Errors
/// All mistakes, one a line.
pub(super) fn read_all(paths: &[PathBuf], addressing: &Addressing<'_>) -> anyhow::Result<Vec<Piece>> {
    let (mut pieces, mut mistakes, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    for path in paths {
        match addressing.read(path) {
            Ok(piece) => {
                bytes = bytes.saturating_add(piece.letter.body.len());
                anyhow::ensure!(bytes <= KEPT_BYTES_MAX, "these are more than 1 GiB: replay fewer at a time");
                pieces.push(piece);
            }
            Err(error) => mistakes.push(format!("{}: {error:#}", path.display())),
        }
    }
    anyhow::ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    Ok(pieces)
}

impl Addressing<'_> {
    fn read(&self, path: &Path) -> anyhow::Result<Piece> {
        let fixture = Fixture::parse(&std::fs::read(path).context("failed to read it")?)?;
        let source = self.source_of(path)?;
        let letter = Letter::of(source.provider, fixture, choose_seal(source, self.secret)?, &[])?;
        let delivery_id = if self.keep_ids {
            let own = letter.own_id().context("it has no delivery id that --keep-ids could keep")?;
            DeliveryId::parse(own.as_bytes()).context("its delivery id")?.as_str().to_owned()
        } else {
            fresh_id(source.provider)
        };
        let expectations = if self.read_expectations { read_expectations(path)? } else { None };
        Ok(Piece { path: path.to_owned(), letter, delivery_id, url: self.url_of(source)?, expectations })
    }

    /// The source that is named; else the one for which the file's folder is named; else the first of the provider for which it is.
    fn source_of(&self, path: &Path) -> anyhow::Result<&Source> {
        if self.source.is_some() {
            return choose_source(self.config, None, self.source);
        }
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let named: Option<&Source> = folder.parse().ok().and_then(|name: SourceName| self.config.sources.get(&name));
        match named {
            Some(source) => Ok(source),
            None => choose_source(self.config, folder.parse::<Provider>().ok(), None),
        }
    }

    fn url_of(&self, source: &Source) -> anyhow::Result<url::Url> {
        if self.to.path() != "/" {
            return Ok(self.to.clone());
        }
        self.to.join(&format!("/hooks/{}", source.name)).context("failed to make the URL of the source")
    }
}

fn read_expectations(path: &Path) -> anyhow::Result<Option<Expectations>> {
    let beside = expectations_beside(path);
    let text = match std::fs::read_to_string(&beside) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", beside.display())),
    };
    Expectations::read(&text).map(Some).with_context(|| format!("{} is wrong", beside.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_the_order_of_their_names_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("b/c")).unwrap();
        for name in ["b/2.http", "b/c/3.http", "a.http", "b/1.http", "b/1.expect.toml", "b/note.txt"] {
            std::fs::write(at(name), "\n").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), at("b/loop")).unwrap();
        let found: Vec<_> = find(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.http", "b/1.http", "b/2.http", "b/c/3.http"]);
        assert!(find(&[at("b/c"), at("nothing")]).is_err());
        std::fs::create_dir(at("empty")).unwrap();
        assert!(find(&[at("empty")]).unwrap_err().to_string().contains("no .http file"));
    }
}
