//! The settings of `check`, from the command line and from the `snick.toml` of a project.

use std::path::{Path, PathBuf};

use snick::{CheckOptions, Release};
use toml::{Table, Value};

use super::{FailOn, Options};
use crate::cli::console::Failure;

/// The name of the project file, which is searched for in the working directory and its parents.
const FILE: &str = "snick.toml";

/// The settings of `check`. The command line overrides the file.
pub(super) struct ProjectOptions {
    pub(super) check: CheckOptions,
    pub(super) fail_on: FailOn,
    pub(super) baseline: Option<PathBuf>,
    /// Whether the text shows the release that each model needs: yes if codes are selected or a target
    /// release is set.
    pub(super) shows_release: bool,
}

/// The table `[check]` of the project file.
#[derive(Default)]
struct ProjectFile {
    table: Table,
    path: PathBuf,
}

impl ProjectOptions {
    pub(super) fn find(options: &Options) -> Result<Self, Failure> {
        let file = ProjectFile::find()?;
        let codes = |given: &[String], key| match given.is_empty() {
            true => file.codes(key),
            false => Ok(given.to_vec()),
        };
        let (selected, ignored) = (codes(&options.select, "select")?, codes(&options.ignore, "ignore")?);
        let mut shows_release = !selected.is_empty();
        let check = CheckOptions::new().select(selected).and_then(|check| check.ignore(ignored));
        let mut check = check.map_err(Failure::usage)?;
        if let Some(release) =
            options.target_openvino.map_or_else(|| file.release(), |given| Ok(Some(given)))?
        {
            check = check.target(release);
            shows_release = true;
        }
        let fail_on = match (options.fail_on, file.text("fail-on")?) {
            (Some(fail_on), _) => fail_on,
            (None, Some(text)) => <FailOn as clap::ValueEnum>::from_str(text, false)
                .map_err(|_| file.error("fail-on", "expected error, warning or never"))?,
            (None, None) => FailOn::default(),
        };
        let beside = |name: &str| file.path.parent().unwrap_or(Path::new("")).join(name);
        let baseline = match &options.baseline {
            Some(path) => Some(path.clone()),
            None => file.text("baseline")?.map(beside),
        };
        Ok(Self { check, fail_on, baseline, shows_release })
    }
}

impl ProjectFile {
    /// Reads the project file in the working directory or its nearest parent that has one.
    fn find() -> Result<Self, Failure> {
        let folder = std::env::current_dir().unwrap_or_default();
        let Some(path) = folder.ancestors().map(|folder| folder.join(FILE)).find(|path| path.is_file())
        else {
            return Ok(Self::default());
        };
        let named = |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| named(&error))?;
        let mut file: Table = text.parse().map_err(|error: toml::de::Error| named(&error.message()))?;
        let table = match file.remove("check") {
            Some(Value::Table(table)) => table,
            Some(_) => return Err(named(&"`check` is not a table")),
            None => Table::new(),
        };
        let known = ["select", "ignore", "baseline", "fail-on", "target-openvino"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(named(&format!(
                "unknown key `{key}` in [check]; expected one of {}",
                known.join(", ")
            )));
        }
        Ok(Self { table, path })
    }

    fn codes(&self, key: &str) -> Result<Vec<String>, Failure> {
        let expected = || self.error(key, "expected a list of codes");
        match self.table.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(codes)) => {
                codes.iter().map(|code| code.as_str().map(str::to_string).ok_or_else(expected)).collect()
            }
            Some(_) => Err(expected()),
        }
    }

    fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        match self.table.get(key) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.error(key, "expected a string")),
        }
    }

    fn release(&self) -> Result<Option<Release>, Failure> {
        let key = "target-openvino";
        let release = self.text(key)?.map(str::parse).transpose();
        release.map_err(|message: String| self.error(key, &message))
    }

    fn error(&self, key: &str, message: &str) -> Failure {
        Failure::usage(format!("{}: `{key}`: {message}", self.path.display()))
    }
}
