//! Writes files so that a reader never sees a partial one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Writes a file under a temporary name in the same folder, then renames it.
///
/// # Errors
/// [`Error::Io`]; the temporary file is removed.
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let temporary = temporary_name(path);
    let written = File::create(&temporary).and_then(|file| {
        let mut file = BufWriter::new(file);
        fill(&mut file)?;
        file.flush()
    });
    written.and_then(|()| fs::rename(&temporary, path)).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::io(path, error)
    })
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
