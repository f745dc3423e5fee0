//! Memory-maps a file, or reads it where there is no mapping.
#![allow(unsafe_code, reason = "a mapping is sound only while the file stays as it is")]

use std::io;
use std::path::Path;

use super::Storage;

impl Storage {
    /// A read-only mapping of a whole file; its bytes on the heap where the system has no mappings.
    ///
    /// # Safety
    /// While the storage or a window on it is in use, nobody may shorten the file or change its bytes.
    ///
    /// # Errors
    /// The error of opening or mapping the file.
    pub unsafe fn map(path: &Path) -> io::Result<Self> {
        #[cfg(any(unix, windows))]
        {
            let file = std::fs::File::open(path)?;
            // SAFETY: the mapping is read-only, and the caller keeps the file as it is.
            let map = unsafe { memmap2::Mmap::map(&file) }?;
            Ok(Self::whole(std::sync::Arc::new(super::MappedFile { map, path: path.to_path_buf() })))
        }
        #[cfg(not(any(unix, windows)))]
        Ok(Self::from_vec(std::fs::read(path)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_reads_like_the_heap() {
        let path = std::env::temp_dir().join(format!("snick-map-{}", std::process::id()));
        std::fs::write(&path, [7, 8, 9]).unwrap();
        // SAFETY: nobody else knows the file.
        let map = || unsafe { Storage::map(&path) };
        let storage = map().unwrap();
        assert_eq!((storage.bytes(), storage.file_offset()), (&[7, 8, 9][..], Some(0)));
        assert_eq!(storage.window(1, 2).unwrap().file_offset(), Some(1));
        assert_eq!(storage.file(), Some(path.as_path()));
        drop(storage);
        std::fs::remove_file(&path).unwrap();
        assert!(map().is_err());
    }
}
