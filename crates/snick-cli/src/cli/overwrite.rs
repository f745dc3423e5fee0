//! Prevents a command from overwriting the files that it reads.

use std::fs;
use std::path::Path;

use clap::Args;
use snick::weights_file;

use super::console::Failure;
use super::help::OUTPUTS;

/// Whether inputs may be overwritten.
#[derive(Args, Copy, Clone, Debug)]
pub struct OverwriteOptions {
    /// Allow the output to overwrite an input of the command
    #[arg(long, help_heading = OUTPUTS)]
    force: bool,
}

impl OverwriteOptions {
    /// Without `--force`, fails if `target` or its weights would replace a file that the command reads.
    /// `--force` is safe: new files are renamed into place, so mapped weights of the old file stay valid.
    pub fn check<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
        target: &Path,
    ) -> Result<(), Failure> {
        if self.force {
            return Ok(());
        }
        let read: Vec<FileId> = inputs.into_iter().filter_map(file_id).collect();
        let mut written = [Some(target.to_path_buf()), weights_file(target)].into_iter().flatten();
        match written.find(|path| file_id(path).is_some_and(|id| read.contains(&id))) {
            Some(path) => {
                let message = "would overwrite the input; pass --force to allow";
                Err(Failure::usage(format!("{}: {message}", path.display())))
            }
            None => Ok(()),
        }
    }
}

/// Identifies a file by device and inode, which do not depend on its name.
#[cfg(unix)]
type FileId = (u64, u64);

/// Identifies a file by its full path with links resolved.
#[cfg(not(unix))]
type FileId = std::path::PathBuf;

/// The id of the file at a path; `None` if there is no file.
#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The id of the file at a path; `None` if there is no file.
#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    fs::canonicalize(path).ok()
}
