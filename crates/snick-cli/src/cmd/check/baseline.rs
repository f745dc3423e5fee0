//! The baseline: a file of known findings, which are ignored. Each line contains the code, model and layer of
//! one finding, so that version control can merge changes.
//!
//! Line numbers are not stored, so that a finding stays known when it moves within its file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use snick::{Finding, WrittenFile};
use snick_ir::text::Escaped;

use super::CheckedModel;
use crate::cli::console::Failure;
use crate::cli::missing_file::cannot_read;

/// The first line of the file.
const HEADER: &str = "# snick check: known findings. Code, model and layer, separated by tabs.";

/// How often each line occurs in the file.
pub(super) struct Baseline(HashMap<String, usize>);

impl Baseline {
    /// Creates a baseline of all findings, to be written to the path `file`.
    pub(super) fn of(models: &[CheckedModel], file: &Path) -> Self {
        let mut lines = HashMap::new();
        for model in models {
            for finding in &model.findings {
                *lines.entry(line(model, finding, file)).or_insert(0) += 1;
            }
        }
        Self(lines)
    }

    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text =
            std::fs::read_to_string(file).map_err(|error| Failure::usage(cannot_read(file, &error)))?;
        if !text.starts_with("# snick check") {
            return Err(Failure::usage(format!("{}: not a baseline of `snick check`", file.display())));
        }
        let mut lines = HashMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            *lines.entry(line.to_string()).or_insert(0) += 1;
        }
        Ok(Self(lines))
    }

    pub(super) fn write(&self, file: &Path) -> Result<WrittenFile, Failure> {
        let mut lines: Vec<&str> =
            self.0.iter().flat_map(|(line, &count)| std::iter::repeat_n(line.as_str(), count)).collect();
        lines.sort_unstable();
        let text = format!("{HEADER}\n{}\n", lines.join("\n"));
        Ok(WrittenFile::write(file, |out| out.write_all(text.as_bytes()))?)
    }

    /// Removes the known findings from the models. A line that occurs `n` times removes up to `n` findings.
    pub(super) fn remove_from(mut self, models: &mut [CheckedModel], file: &Path) {
        for model in models {
            let findings = std::mem::take(&mut model.findings);
            let is_new = |finding: &Finding| match self.0.get_mut(&line(model, finding, file)) {
                Some(count @ 1..) => {
                    *count -= 1;
                    false
                }
                _ => true,
            };
            let is_new: Vec<bool> = findings.iter().map(is_new).collect();
            let new = findings.into_iter().zip(is_new).filter(|(_, is_new)| *is_new);
            model.findings = new.map(|(finding, _)| finding).collect();
            model.update_status();
        }
    }
}

fn line(model: &CheckedModel, finding: &Finding, file: &Path) -> String {
    let path = relative(Path::new(&model.path), file);
    format!("{}\t{}\t{}", finding.code, Escaped(&path), Escaped(&finding.layer))
}

/// The path of a model with `/` as separator. The path is relative to the folder of `file` if the model is
/// inside this folder, so that the baseline stays valid when the project is moved. Otherwise, the path is
/// absolute.
fn relative(path: &Path, file: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let plain = |path: &Path| -> PathBuf {
        let mut plain = PathBuf::new();
        for part in absolute(path).components() {
            match part {
                std::path::Component::ParentDir => drop(plain.pop()),
                part => plain.push(part),
            }
        }
        plain
    };
    let (path, file) = (plain(path), plain(file));
    let inner = file.parent().and_then(|folder| path.strip_prefix(folder).ok());
    let parts = inner.unwrap_or(&path).components().map(|part| part.as_os_str().to_string_lossy());
    let joined = parts.collect::<Vec<_>>().join("/");
    if inner.is_some() { joined } else { joined.replacen("//", "/", 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_from_the_folder_of_the_file() {
        assert_eq!(relative(Path::new("/p/models/./a/../m.xml"), Path::new("/p/known.txt")), "models/m.xml");
        assert_eq!(relative(Path::new("/q/m.xml"), Path::new("/p/known.txt")), "/q/m.xml");
    }
}
