//! Writes files atomically: a reader never sees a partial file, and a failure leaves no temporary files
//! behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use snick_ir::Format;

use crate::Error;
use crate::weights_place::WeightsPlace;

/// A destination for the content of a file.
pub trait Sink: Write + Seek {}

impl<T: Write + Seek> Sink for T {}

/// A file that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WrittenFile {
    /// Its path, as requested.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The version of its format, such as `IR v11` or `opset 21`.
    pub version: Option<String>,
}

impl WrittenFile {
    fn new(path: &Path, bytes: u64) -> Self {
        Self { path: path.to_path_buf(), bytes, version: None }
    }

    /// Writes a file like [`write_file`], and describes it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Result<Self, Error> {
        let mut files = OutputFiles::new();
        let bytes = files.stage(path, fill).map_err(|error| Error::io(path, error))?;
        files.commit()?;
        Ok(Self::new(path, bytes))
    }
}

/// Writes a file; see [`OutputFiles`].
///
/// # Errors
/// [`Error::Io`].
pub fn write_file(path: &Path, fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> Result<(), Error> {
    WrittenFile::write(path, fill).map(drop)
}

/// Files that are written together. The content of each file goes to a temporary file in the same folder, and
/// [`OutputFiles::commit`] renames all of them. If the value is dropped without a commit, the temporary files
/// are removed.
///
/// Only regular files are replaced, and they keep their permissions; read-only files are not replaced.
/// Symbolic links are followed. Pipes and devices are written to directly.
///
/// ```
/// use std::io::Write;
/// use snick::OutputFiles;
///
/// let folder = std::env::temp_dir().join(format!("snick-outputs-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("notes.txt");
/// let mut files = OutputFiles::new();
/// files.add(&path, |file| file.write_all(b"complete"))?;
/// assert!(!path.exists());
/// files.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"complete");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "files are written by `commit`"]
pub struct OutputFiles {
    staged: Vec<Staged>,
    added: Vec<WrittenFile>,
}

/// A file whose content is complete but that is not in place yet.
#[derive(Debug)]
enum Staged {
    /// Will be renamed.
    Regular { temporary: PathBuf, target: PathBuf },
    /// Will be written to a pipe or a device.
    Stream { bytes: Vec<u8>, target: PathBuf },
    /// A hard link to an existing file.
    Kept { old: PathBuf, target: PathBuf },
}

impl OutputFiles {
    /// Creates an empty set of files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with the content that `fill` writes.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written at this path, or if `fill` fails.
    pub fn add(
        &mut self,
        path: &Path,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Result<(), Error> {
        let bytes = self.stage(path, fill).map_err(|error| Error::io(path, error))?;
        self.added.push(WrittenFile::new(path, bytes));
        Ok(())
    }

    /// Returns the size of the file.
    fn stage(&mut self, path: &Path, fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>) -> io::Result<u64> {
        let target = follow_links(path)?;
        let old = match fs::metadata(&target) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match &old {
            Some(old) if old.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(old) if !old.is_file() => {
                let mut bytes = Cursor::new(Vec::new());
                fill(&mut bytes)?;
                let bytes = bytes.into_inner();
                let size = bytes.len() as u64;
                self.staged.push(Staged::Stream { bytes, target });
                return Ok(size);
            }
            Some(old) if old.permissions().readonly() => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
            }
            _ => {}
        }
        let (temporary, file) = create_beside(&target, old.as_ref())?;
        self.staged.push(Staged::Regular { temporary, target });
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        let mut file = BufWriter::new(file);
        fill(&mut file)?;
        file.flush()?;
        Ok(file.get_ref().metadata()?.len())
    }

    /// Puts all files in place, in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn commit(self) -> Result<(), Error> {
        self.commit_listed().map(drop)
    }

    /// Like [`OutputFiles::commit`], and returns the files.
    pub(crate) fn commit_listed(mut self) -> Result<Vec<WrittenFile>, Error> {
        for staged in &mut self.staged {
            let (target, done) = match staged {
                Staged::Regular { temporary, target } => (&*target, fs::rename(temporary, &*target)),
                Staged::Kept { old, target } => (&*target, keep(old, target)),
                Staged::Stream { bytes, target } => {
                    let opened = OpenOptions::new().write(true).open(&*target);
                    (&*target, opened.and_then(|mut stream| stream.write_all(bytes)))
                }
            };
            done.map_err(|error| Error::io(target, error))?;
        }
        Ok(std::mem::take(&mut self.added))
    }
}

impl Drop for OutputFiles {
    fn drop(&mut self) {
        for staged in &self.staged {
            if let Staged::Regular { temporary, .. } = staged {
                // Fails if the file was already renamed. Other errors cannot be reported from `drop`.
                let _ = fs::remove_file(temporary);
            }
        }
    }
}

/// Creates a hard link to a file, so that its content survives when the first name is overwritten.
fn keep(old: &Path, target: &Path) -> io::Result<()> {
    let old = fs::canonicalize(old)?;
    // Copies the file where the file system has no hard links.
    fs::hard_link(&old, target).or_else(|_| fs::copy(&old, target).map(drop))
}

/// Receives the files of a model.
pub(crate) trait Files {
    /// Returns the path of the file for the large constants of a model.
    fn weights(&mut self, format: Format, model: &Path) -> Result<PathBuf, Error>;

    /// Adds a file with the content that `fill` writes.
    fn put(&mut self, path: &Path, fill: &dyn Fn(&mut dyn Sink) -> io::Result<()>) -> Result<(), Error>;

    /// Sets the version of the format of the file that was added last.
    fn set_version(&mut self, _version: String) {}
}

impl Files for OutputFiles {
    fn weights(&mut self, format: Format, model: &Path) -> Result<PathBuf, Error> {
        let WeightsPlace { path, old } = WeightsPlace::find(format, model)?;
        self.staged.extend(old.into_iter().map(|target| Staged::Kept { old: path.clone(), target }));
        Ok(path)
    }

    fn put(&mut self, path: &Path, fill: &dyn Fn(&mut dyn Sink) -> io::Result<()>) -> Result<(), Error> {
        self.add(path, fill)
    }

    fn set_version(&mut self, version: String) {
        if let Some(file) = self.added.last_mut() {
            file.version = Some(version);
        }
    }
}

/// Files that are kept in memory.
#[derive(Default)]
pub(crate) struct MemoryFiles(pub(crate) Vec<(PathBuf, Vec<u8>)>);

impl Files for MemoryFiles {
    /// Returns a file name that no other format uses, because models of several formats may share a folder.
    fn weights(&mut self, format: Format, model: &Path) -> Result<PathBuf, Error> {
        format.weights_files(model).next().ok_or_else(|| Error::Target { path: model.to_path_buf() })
    }

    fn put(&mut self, path: &Path, fill: &dyn Fn(&mut dyn Sink) -> io::Result<()>) -> Result<(), Error> {
        let mut bytes = Cursor::new(Vec::new());
        let filled = length(fill).and_then(|len| {
            bytes.get_mut().try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
            fill(&mut bytes)
        });
        filled.map_err(|error| Error::io(path, error))?;
        self.0.push((path.to_path_buf(), bytes.into_inner()));
        Ok(())
    }
}

/// The length of the file that `fill` writes. It is needed to allocate the buffer in advance: growing the
/// buffer would temporarily take twice the memory, which a browser may not have.
fn length(fill: &dyn Fn(&mut dyn Sink) -> io::Result<()>) -> io::Result<usize> {
    let mut counted = Counter::default();
    fill(&mut counted)?;
    usize::try_from(counted.len).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// A sink that discards the content of a file and only tracks its length.
#[derive(Default)]
struct Counter {
    at: u64,
    len: u64,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.at = self.at.saturating_add(bytes.len() as u64);
        self.len = self.len.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Counter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Follows symbolic links. The final target need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    // The same limit as in Linux.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // Not a link, or no such file.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Creates a temporary file in the folder of `target`. Only users who can read the old file can read it.
fn create_beside(target: &Path, old: Option<&fs::Metadata>) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(old) = old {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(old.permissions().mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = old;
    for attempt in 0u32.. {
        // Short, because the target's name may already have the maximum length.
        let path = target.with_file_name(format!(".snick-{}-{attempt}.tmp", std::process::id()));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((path, opened?)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
