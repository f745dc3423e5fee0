//! Files: text is read into memory, weights are mapped.
#![allow(unsafe_code, reason = "whoever reads a model promises that its files stay as they are")]

use std::path::Path;

use snick_tensor::Storage;

use crate::ReadError;

/// Fails for anything but a regular file: opening a pipe would wait for a writer, and a device may have no end.
fn check_regular(path: &Path) -> std::io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    match kind.is_file() || kind.is_dir() {
        true => Ok(()),
        false => {
            let message = "a pipe or a device, not a regular file";
            Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message))
        }
    }
}

/// Maps a regular file of weights.
pub(crate) fn map(path: &Path) -> std::io::Result<Storage> {
    check_regular(path)?;
    // SAFETY: the documentation of `Reader::file` asks that files stay as they are while the model is in use. The bytes
    // are read as numbers, which may have any bits; text is never mapped.
    unsafe { Storage::map(path) }
}

/// Maps a file; refuses git-LFS pointers.
pub(crate) fn open(path: &Path) -> Result<Storage, ReadError> {
    let storage = map(path).map_err(|error| ReadError::io(path, error))?;
    refuse_lfs_pointer(path, storage.bytes()).map(|()| storage)
}

/// Reads a file of text into memory: as a mapping it could change after it was found to be UTF-8.
pub(crate) fn read(path: &Path) -> Result<Storage, ReadError> {
    let storage = check_regular(path).and_then(|()| Storage::read(path));
    let storage = storage.map_err(|error| ReadError::io(path, error))?;
    refuse_lfs_pointer(path, storage.bytes()).map(|()| storage)
}

fn refuse_lfs_pointer(path: &Path, bytes: &[u8]) -> Result<(), ReadError> {
    match bytes.starts_with(b"version https://git-lfs") {
        true => Err(ReadError::LfsPointer { path: path.to_path_buf() }),
        false => Ok(()),
    }
}
