//! Errors about files that cannot be read, with a suggestion in case of a typo.

use std::io;
use std::path::Path;

use snick_ir::nearest_name;
use snick_ir::text::Escaped;

/// The message for a file or folder that cannot be read. If it does not exist, suggests a similar name in the
/// same folder.
pub fn cannot_read(path: &Path, error: &io::Error) -> String {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{shown}: no such file or folder{}", suggestion(path)),
        _ => format!("cannot read {shown}: {error}"),
    }
}

/// `; did you mean ...?` with the most similar path in the same folder; empty if there is none.
fn suggestion(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let names = entries.take(MAX_ENTRIES).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.collect();
    let Some(known) = nearest_name(&name, names.iter().map(String::as_str), 1) else { return String::new() };
    let known = path.with_file_name(known).display().to_string();
    format!("; did you mean `{}`?", Escaped(&known))
}

/// Maximum number of files in the folder whose names are compared.
const MAX_ENTRIES: usize = 10_000;
