//! Secrets that Oncehook makes itself, for a start without a provider: 32 random bytes, kept in the data folder and read
//! again at each later start. There is no built-in default secret.

use std::{
    fmt, fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use secrecy::SecretString;

use super::secret::{Purpose, Refusal, Text, read_file};
use crate::verify::Scheme;

/// A secret that was made just now. It prints without the secret.
#[derive(Debug, Clone)]
pub struct GeneratedSecret {
    /// `source github`, `destination deployer`.
    pub for_what: String,
    /// The file that keeps it.
    pub path: PathBuf,
    /// The text to give to the sender, to be shown once.
    pub secret: SecretString,
}

/// A secret that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) owner: &'static str,
    pub(super) name: String,
    pub(super) path: PathBuf,
    scheme: Scheme,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.owner, self.name)
    }
}

impl Plan {
    pub(super) fn of(data_dir: &Path, purpose: Purpose<'_>) -> Self {
        let path = data_dir.join("secrets").join(format!("{}-{}", purpose.owner, purpose.name));
        Self { owner: purpose.owner, name: purpose.name.to_owned(), path, scheme: purpose.scheme }
    }

    /// The secret of an earlier start, or the plan to make it.
    pub(super) fn look(self) -> Result<Text, Refusal> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Text::ToGenerate(self)),
            _ => read_file(&self.path),
        }
    }

    /// Makes the secret and its file, mode 0600. Two processes that start together end with the same one. The second value
    /// tells whether it is this process' own.
    pub(super) fn carry_out(&self) -> io::Result<(String, bool)> {
        let folder = self.path.parent().expect("Plan::of puts the file into the folder `secrets`");
        if let Some(data_dir) = folder.parent() {
            fs::create_dir_all(data_dir)?;
        }
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let text = self.text();
        let draft = folder.join(format!(".draft-{}", hex::encode(rand::random::<[u8; 8]>())));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        // A link, not a rename: it appears whole, and it never replaces a secret that is already in use.
        let linked = fs::hard_link(&draft, &self.path);
        fs::remove_file(&draft)?;
        match linked {
            Ok(()) => {
                fs::File::open(folder)?.sync_all()?;
                Ok((text, true))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = fs::read_to_string(&self.path)?;
                Ok((text.trim_end().to_owned(), false))
            }
            Err(error) => Err(error),
        }
    }

    fn text(&self) -> String {
        let random = rand::random::<[u8; 32]>();
        match self.scheme {
            Scheme::GitHub => hex::encode(random),
            Scheme::Stripe => format!("whsec_{}", hex::encode(random)),
            Scheme::StandardWebhooks | Scheme::Api => format!("whsec_{}", STANDARD.encode(random)),
        }
    }

    pub(super) fn purpose(&self) -> Purpose<'_> {
        Purpose { owner: self.owner, name: &self.name, scheme: self.scheme }
    }
}
