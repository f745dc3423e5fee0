//! The program as seen by other programs, with helpers to run it on models and in folders.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod certify;
mod cli;
mod devices;
mod documented_json;
mod editing;
mod explain;
mod many;
mod outputs;
mod pictures;
mod plan;
mod report;
mod stablehlo_folder;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn snick(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_snick"))
        .args(args)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .output()
        .unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn model(name: &str) -> String {
    root().join("models").join(name).join("model.xml").display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("snick-cli-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
