//! Finds the models that paths on the command line refer to: files, and the contents of folders.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use snick::Format;

use super::console::Failure;
use super::missing_file::cannot_read;

/// The models at these paths without duplicates. Models in a folder are sorted by path.
///
/// # Errors
/// A path does not exist, or a folder cannot be read or contains no model.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut models = Vec::new();
    for path in paths {
        if !path.is_dir() {
            fs::metadata(path).map_err(|error| Failure::usage(cannot_read(path, &error)))?;
            models.push(path.clone());
            continue;
        }
        let found = models_in(path)?;
        if found.is_empty() {
            // The error of `snick::load` describes the contents of the folder.
            snick::load(path)?;
        }
        models.extend(found);
    }
    let mut seen = std::collections::HashSet::new();
    models.retain(|path| seen.insert(path.clone()));
    Ok(models)
}

/// Whether a folder contains a model with a standard file name, such as `model.xml`.
pub fn is_home(folder: &Path) -> bool {
    snick::model_of_folder(folder).is_some()
}

/// The models in a folder and its subfolders, skipping hidden folders and links to folders.
fn models_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut models = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let cannot = |error| Failure::usage(cannot_read(&folder, &error));
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let path = entry.path();
            if entry.file_type().map_err(cannot)?.is_dir() {
                let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
                folders.extend((!is_hidden).then_some(path));
            } else if path.is_file() && is_model(&path) {
                models.push(path);
            }
        }
    }
    models.sort();
    Ok(models)
}

/// Number of bytes at the start of a file to examine.
const HEAD: u64 = 4096;

/// Whether to read a file as a model. The extension decides, except for XML and JSON files, which may contain
/// anything. An XML file is read if its name is typical of a model, if its root element is `net`, or if no
/// element is found, so that damaged models are noticed. A JSON file is read if it starts like a model.
fn is_model(path: &Path) -> bool {
    match Format::to_read(path) {
        Some(Format::OpenVino) => {
            is_named_as_model(path) || root_element(&head(path)).is_none_or(|name| name == b"net")
        }
        Some(Format::NGraph | Format::DirectMl) => is_json_model(&head(path)),
        format => format.is_some(),
    }
}

/// Whether the name of an XML file is typical of a model. Such a file is read even if it contains something
/// else, such as an error page, so that the mistake is reported.
fn is_named_as_model(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default();
    stem == "model" || stem == "openvino_model" || path.with_extension("bin").is_file()
}

fn head(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The verb reports unreadable files.
    let _ = fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut bytes));
    bytes
}

/// The name of the first XML element; `None` if there is no element.
fn root_element(head: &[u8]) -> Option<&[u8]> {
    let mut tags = head.split(|&byte| byte == b'<').skip(1);
    let tag = tags.find(|tag| tag.first().is_some_and(u8::is_ascii_alphabetic))?;
    tag.split(|byte| !byte.is_ascii_alphanumeric()).next()
}

/// Whether JSON starts like a list of nGraph functions or like a DirectML description.
fn is_json_model(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('{') && text.contains("\"directml\"")
        || text.starts_with('[') && text.contains("\"ops\"") && text.contains("\"parameters\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_xml_and_json_is_no_model() {
        assert_eq!(root_element(b"<?xml version=\"1.0\"?>\n<!-- c -->\n<net name=\"n\">"), Some(&b"net"[..]));
        assert_eq!(root_element(b"<project><net/>"), Some(&b"project"[..]));
        assert_eq!(root_element(b"version https://git-lfs.github.com/spec/v1"), None);
        assert!(is_json_model(b" {\"directml\": 1, \"ops\": []}"));
        assert!(!is_json_model(b"{\"name\": \"package\"}"));
    }
}
