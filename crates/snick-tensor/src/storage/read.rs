//! Reads files into memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::Storage;

/// Files of these sizes are read into mapped pages, others to the heap. Small files need few pages, and a
/// very large reported size may be wrong.
#[cfg(unix)]
const IN_PAGES: std::ops::Range<u64> = 1 << 20..1 << 30;

impl Storage {
    /// Copies a file to memory, so that later changes to the file have no effect.
    ///
    /// # Errors
    /// The error of opening or reading the file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        #[cfg(unix)]
        if let Some(pages) = read_pages(&mut file)? {
            return Ok(Self::whole(std::sync::Arc::new(pages)));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::from_vec(bytes))
    }
}

/// Reads a large file into pages that the system provides all at once. For a file that is read once, page
/// faults would take a third of the time.
#[cfg(unix)]
fn read_pages(file: &mut File) -> io::Result<Option<memmap2::MmapMut>> {
    let size = file.metadata()?.len();
    let Some(size) = Some(size).filter(|size| IN_PAGES.contains(size)) else { return Ok(None) };
    let mut pages = memmap2::MmapMut::map_anon(usize::try_from(size).unwrap_or(0))?;
    #[cfg(target_os = "linux")]
    for advice in [memmap2::Advice::HugePage, memmap2::Advice::PopulateWrite] {
        // Older systems do not support this.
        let _ = pages.advise(advice);
    }
    file.read_exact(&mut pages)?;
    Ok(Some(pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_read_may_change() {
        let path = std::env::temp_dir().join(format!("snick-read-{}", std::process::id()));
        for size in [0, 3, (1 << 20) + 5] {
            let bytes: Vec<u8> = (0..size).map(|i| i as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let storage = Storage::read(&path).unwrap();
            std::fs::write(&path, "changed").unwrap();
            assert!(storage.bytes() == bytes, "{size}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Storage::read(&path).is_err());
    }
}
