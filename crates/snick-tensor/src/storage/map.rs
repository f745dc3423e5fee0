//! Memory-maps files, or reads them on systems without mappings.
#![allow(unsafe_code, reason = "a mapping is sound only while the file stays as it is")]

use std::io;
use std::path::Path;

use super::Storage;

impl Storage {
    /// Maps a whole file read-only. Reads it to the heap on systems without mappings.
    ///
    /// # Safety
    /// The file must not be truncated or modified while the storage or a window into it is in use.
    ///
    /// # Errors
    /// The error of opening or mapping the file.
    pub unsafe fn map(path: &Path) -> io::Result<Self> {
        #[cfg(any(unix, windows))]
        {
            let file = std::fs::File::open(path)?;
            // SAFETY: the mapping is read-only, and the caller guarantees that the file does not change.
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
    use crate::{ElementType, Tensor};

    #[test]
    fn a_mapped_file_reads_like_the_heap() {
        let path = std::env::temp_dir().join(format!("snick-map-{}", std::process::id()));
        std::fs::write(&path, [7, 8, 9]).unwrap();
        // SAFETY: no other code accesses the file.
        let map = || unsafe { Storage::map(&path) };
        let storage = map().unwrap();
        assert_eq!((storage.bytes(), storage.file_offset()), (&[7, 8, 9][..], Some(0)));
        assert_eq!(storage.window(1, 2).unwrap().file_offset(), Some(1));
        assert_eq!(storage.file(), Some(path.as_path()));
        drop(storage);
        std::fs::remove_file(&path).unwrap();
        assert!(map().is_err());
    }

    #[test]
    fn packed_elements_of_a_mapped_file_have_a_place() {
        let path = std::env::temp_dir().join(format!("snick-range-{}", std::process::id()));
        std::fs::write(&path, [0x10, 0x32, 0x54, 0x76]).unwrap();
        // SAFETY: no other code accesses the file.
        let storage = unsafe { Storage::map(&path) }.unwrap().window(1, 3).unwrap();
        let nibbles = Tensor::new(ElementType::U4, &[3, 2], storage).unwrap();
        assert_eq!(nibbles.file_range(), Some((path.as_path(), 1..4)));
        assert_eq!(nibbles.slice(0, 1, 2, 1).unwrap().file_range(), Some((path.as_path(), 2..4)));
        // Not packed; not at a byte boundary; not in a file.
        assert_eq!(nibbles.slice(1, 0, 1, 1).unwrap().file_range(), None);
        assert_eq!(nibbles.reshape(&[6]).unwrap().slice(0, 1, 2, 1).unwrap().file_range(), None);
        assert_eq!(Tensor::full(&[4], 1u8).unwrap().file_range(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
