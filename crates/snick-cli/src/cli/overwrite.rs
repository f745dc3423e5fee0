//! Keeps the files that a command reads from being overwritten by what it writes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use snick::Format;

use super::console::Failure;

/// Whether inputs may be overwritten.
#[derive(Args, Copy, Clone, Debug)]
pub struct OverwriteOptions {
    /// Allow the output to overwrite an input of the command
    #[arg(long)]
    force: bool,
}

impl OverwriteOptions {
    /// Refuses to write `target`, or the weights beside it, over one of the files that the command reads, unless
    /// `--force` is given. That is safe: files are renamed into place, and mapped weights of the old one stay valid.
    pub fn check<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
        target: &Path,
    ) -> Result<(), Failure> {
        if self.force {
            return Ok(());
        }
        let read: Vec<FileId> = inputs.into_iter().filter_map(FileId::of).collect();
        let weights = Format::to_write(target).and_then(|format| format.weights_of(target));
        let mut written = [Some(target.to_path_buf()), weights].into_iter().flatten();
        match written.find(|path| FileId::of(path).is_some_and(|id| read.contains(&id))) {
            Some(path) => {
                let message = "would overwrite the input; pass --force to allow";
                Err(Failure::usage(format!("{}: {message}", path.display())))
            }
            None => Ok(()),
        }
    }
}

/// What makes a file the same under two names.
#[derive(PartialEq, Eq)]
enum FileId {
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no inodes"))]
    Inode { device: u64, inode: u64 },
    #[cfg_attr(unix, allow(dead_code, reason = "two links to a file have two paths"))]
    Path(PathBuf),
}

impl FileId {
    /// The file that a path leads to; `None` if there is none.
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path).ok()?;
        Some(Self::Inode { device: metadata.dev(), inode: metadata.ino() })
    }

    /// The file that a path leads to; `None` if there is none.
    #[cfg(not(unix))]
    fn of(path: &Path) -> Option<Self> {
        fs::canonicalize(path).ok().map(Self::Path)
    }
}
