//! Passes the hash of the compiled commit to the program, whose `--version` prints it, and makes published programs small.

use std::path::Path;
use std::process::Command;

/// Number of digits of the hash to show.
const DIGITS: usize = 9;

fn main() {
    let commit = packaged_commit().or_else(checked_out_commit);
    let commit = commit.and_then(|commit| Some(format!(" ({})", commit.get(..DIGITS)?)));
    println!("cargo::rustc-env=SNICK_COMMIT={}", commit.unwrap_or_default());
    if is_published() && variable("CARGO_CFG_TARGET_OS") == "linux" {
        link_small();
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Whether this is the profile `dist`, which does not unwind. Only the path of a folder names the profile.
fn is_published() -> bool {
    Path::new(&variable("OUT_DIR")).components().any(|folder| folder.as_os_str() == "dist")
}

/// Omits what only unwinding reads, 7 % of the program. Programs for musl relocate themselves, so they need no system
/// that knows the short form of relocations.
fn link_small() {
    println!("cargo::rerun-if-changed=without_unwinding.ld");
    let script = Path::new(&variable("CARGO_MANIFEST_DIR")).join("without_unwinding.ld");
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
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
