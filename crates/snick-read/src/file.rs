//! Opens files: text is read into memory, and weights are mapped.
#![allow(unsafe_code, reason = "whoever reads a model promises that its files stay as they are")]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use snick_ir::Format;
use snick_tensor::Storage;

use crate::ReadError;

/// Fails for any file that is not regular: opening a pipe would block, and a device may have no end.
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

/// Maps a weights file, which must be a regular file.
pub(crate) fn map(path: &Path) -> std::io::Result<Storage> {
    check_regular(path)?;
    // SAFETY: the documentation of `Reader::file` requires that files do not change while the model is in
    // use. The bytes are only read as numbers, for which any bit pattern is valid; text is never mapped.
    unsafe { Storage::map(path) }
}

/// Maps a file. Rejects git-LFS pointers.
pub(crate) fn open(path: &Path) -> Result<Storage, ReadError> {
    let storage = map(path).map_err(|error| ReadError::io(path, error))?;
    refuse_lfs_pointer(path, storage.bytes()).map(|()| storage)
}

/// Reads a text file into memory. It is not mapped, because a mapped file could change after the check for
/// UTF-8.
pub(crate) fn read(path: &Path) -> Result<Storage, ReadError> {
    let zeros = check_regular(path).and_then(|()| zeros_of(path));
    if let Some(at) = zeros.map_err(|error| ReadError::io(path, error))? {
        return Err(ReadError::Zeros { path: path.to_path_buf(), at });
    }
    let storage = Storage::read(path).map_err(|error| ReadError::io(path, error))?;
    refuse_lfs_pointer(path, storage.bytes()).map(|()| storage)
}

/// The offset of a block of zeros in a large text file, which may be a sparse file or an unfinished download.
/// Detecting this early avoids reading the whole file. Checks one block per 16 MiB.
fn zeros_of(path: &Path) -> std::io::Result<Option<u64>> {
    const BLOCK: u64 = 1 << 16;
    const STRIDE: u64 = 1 << 24;
    let len = std::fs::metadata(path)?.len();
    if len < STRIDE {
        return Ok(None);
    }
    let (mut file, mut block) = (File::open(path)?, Vec::new());
    let mut at = 0;
    while at < len {
        file.seek(SeekFrom::Start(at))?;
        block.clear();
        file.by_ref().take(BLOCK).read_to_end(&mut block)?;
        if block.len() as u64 == BLOCK && block.iter().all(|&byte| byte == 0) {
            return Ok(Some(at));
        }
        at = at.saturating_add(STRIDE);
    }
    Ok(None)
}

/// The weights file next to a model. If the model is a symbolic link, the file may be next to the target of
/// the link.
pub(crate) fn weights_beside(format: Format, model: &Path) -> PathBuf {
    let weights_of = |model: &Path| format.weights_of(model).unwrap_or_else(|| model.with_extension("bin"));
    let beside = weights_of(model);
    if beside.exists() {
        return beside;
    }
    let target = model.canonicalize().ok().map(|target| weights_of(&target));
    target.filter(|target| target.exists()).unwrap_or(beside)
}

fn refuse_lfs_pointer(path: &Path, bytes: &[u8]) -> Result<(), ReadError> {
    match bytes.starts_with(b"version https://git-lfs") {
        true => Err(ReadError::LfsPointer { path: path.to_path_buf() }),
        false => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn weights_are_beside_a_link_or_beside_its_target() {
        let folder = std::env::temp_dir().join(format!("snick-weights-beside-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("blobs")).unwrap();
        for file in ["blobs/m.xml", "blobs/m.bin", "blobs/9ab2"] {
            std::fs::write(folder.join(file), file).unwrap();
        }
        let link = folder.join("link.xml");
        std::os::unix::fs::symlink("blobs/m.xml", &link).unwrap();
        let target = folder.canonicalize().unwrap().join("blobs/m.bin");
        assert_eq!(weights_beside(Format::OpenVino, &link), target);
        std::os::unix::fs::symlink("blobs/9ab2", folder.join("link.bin")).unwrap();
        assert_eq!(weights_beside(Format::OpenVino, &link), folder.join("link.bin"));
        assert_eq!(weights_beside(Format::OpenVino, &folder.join("other.xml")), folder.join("other.bin"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
