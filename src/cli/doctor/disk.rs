//! Disks and folders: room that is left, and whether we may write where we must.

use std::path::Path;

use nix::{
    sys::statvfs::statvfs,
    unistd::{AccessFlags, access},
};

use super::finding::Finding;
use crate::config::Config;

/// Less is too little for a night of payloads, and PostgreSQL stops when nothing is left.
const FREE_BYTES_MIN: u64 = 1 << 30;

/// Of the disk.
const FREE_PERCENT_MIN: u64 = 10;

/// The data folder.
pub(super) fn examine_files(config: &Config) -> Vec<Finding> {
    let folder = config.data_dir.as_path();
    if !folder.exists() {
        let found = format!("there is no folder {} yet", folder.display());
        return vec![Finding::note("data_dir", found, "oncehook serve makes it at its first start")];
    }
    let mut findings = Vec::new();
    if let Err(error) = access(folder, AccessFlags::W_OK | AccessFlags::X_OK) {
        let found = format!("this user cannot write to {}: {error}", folder.display());
        let instead =
            "run the doctor as the user that Oncehook runs as; if you do: give the folder to that user with chown";
        findings.push(Finding::problem("data_dir", found, instead));
    }
    findings.extend(examine_space("data_dir", folder));
    findings
}

/// The room on the disk of a folder; nothing where this machine does not have it.
pub(super) fn examine_space(check: &'static str, folder: &Path) -> Option<Finding> {
    let disk = statvfs(folder).ok()?;
    // Types differ between systems.
    #[expect(clippy::useless_conversion, reason = "they are u32 on macOS")]
    let [free, all, unit] =
        [u64::from(disk.blocks_available()), u64::from(disk.blocks()), u64::from(disk.fragment_size())];
    Some(of_space(check, folder, free.saturating_mul(unit), all.saturating_mul(unit)))
}

fn of_space(check: &'static str, folder: &Path, free: u64, all: u64) -> Finding {
    let percent = free.saturating_mul(100) / all.max(1);
    let gib = free as f64 / FREE_BYTES_MIN as f64;
    let found = format!("{gib:.1} GiB ({percent} %) are free at {}", folder.display());
    if free >= FREE_BYTES_MIN && percent >= FREE_PERCENT_MIN {
        return Finding::ok(check, found);
    }
    let instead = "make room: shorten retention.payloads, or move the folder to a larger disk. When nothing is left, webhooks are \
                   answered 503";
    Finding::warning(check, found, instead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Severity;

    #[test]
    fn less_than_a_gibibyte_or_a_tenth_is_a_warning() {
        const GIB: u64 = 1 << 30;
        for (free, all, severity) in [
            (2 * GIB, 10 * GIB, Severity::Ok),
            (GIB - 1, 2 * GIB, Severity::Warning),
            (9 * GIB, 100 * GIB, Severity::Warning),
            (0, 0, Severity::Warning),
        ] {
            assert_eq!(of_space("data_dir", Path::new("/x"), free, all).severity, severity, "{free} of {all}");
        }
    }
}
