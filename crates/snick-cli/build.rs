//! Passes the hash of the compiled commit to the program, whose `--version` prints it.

use std::path::Path;
use std::process::Command;

/// Number of digits of the hash to show.
const DIGITS: usize = 9;

fn main() {
    let commit = packaged_commit().or_else(checked_out_commit);
    let commit = commit.and_then(|commit| Some(format!(" ({})", commit.get(..DIGITS)?)));
    println!("cargo::rustc-env=SNICK_COMMIT={}", commit.unwrap_or_default());
}

/// The hash of the commit that cargo recorded when it packaged the crate.
fn packaged_commit() -> Option<String> {
    println!("cargo::rerun-if-changed=build.rs");
    let info = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, hash) = info.split_once("\"sha1\": \"")?;
    Some(hash.split('"').next()?.to_string())
}

/// The hash of the checked-out commit; `None` if the sources are part of another repository.
fn checked_out_commit() -> Option<String> {
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == "crates/snick-cli/")?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    // The log of HEAD changes with every commit and checkout. It is only named if it exists, because cargo
    // reruns this script on every build while a named file is missing.
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}
