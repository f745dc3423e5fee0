//! The locations of test inputs and documents.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// `model.xml` of every folder of `models/`, by name.
pub fn models() -> Vec<PathBuf> {
    let models = in_folders(&root().join("models"));
    assert!(!models.is_empty(), "no models");
    models
}

/// The files in `tests/cases/FOLDER`, by name.
pub fn cases(folder: &str) -> Vec<PathBuf> {
    let cases = entries(&root().join("tests/cases").join(folder));
    assert!(!cases.is_empty(), "no cases in {folder}");
    cases
}

/// The cases of single operations, then the models.
pub fn ops_and_models() -> Vec<PathBuf> {
    cases("ops").into_iter().chain(models()).collect()
}

/// The models of the repository and the corpus.
pub fn models_and_corpus() -> Vec<PathBuf> {
    models().into_iter().chain(corpus().unwrap_or_default()).collect()
}

/// The models of the corpus named by `SNICK_CORPUS`: `model.xml` in each folder of its `models/`, or
/// otherwise its `.json` files. `None` if the variable is not set.
pub fn corpus() -> Option<Vec<PathBuf>> {
    let folder = PathBuf::from(std::env::var_os("SNICK_CORPUS")?);
    let models = match folder.join("models") {
        models if models.is_dir() => in_folders(&models),
        _ => with_extension(entries(&folder), "json"),
    };
    assert!(!models.is_empty(), "SNICK_CORPUS names {folder:?}, which holds no models");
    Some(models)
}

/// The name of a model or case. For a `model.xml`, the name of its folder.
pub fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap();
    let name = if stem == "model" { path.parent().unwrap().file_name().unwrap() } else { stem };
    name.to_str().unwrap().to_string()
}

/// All files in a folder and its subfolders, sorted; none if the folder does not exist.
pub fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let is_source = |path: &Path| path.file_name().is_some_and(|name| name != "target");
    for path in if folder.is_dir() { entries(folder) } else { Vec::new() } {
        match path.is_dir() {
            true if is_source(&path) => walk(&path, found),
            true => {}
            false => found.push(path),
        }
    }
}

/// The paths with this extension.
pub fn with_extension(mut paths: Vec<PathBuf>, extension: &str) -> Vec<PathBuf> {
    paths.retain(|path| path.extension().is_some_and(|e| e == extension));
    paths
}

fn in_folders(folder: &Path) -> Vec<PathBuf> {
    let models = entries(folder).into_iter().map(|entry| entry.join("model.xml"));
    models.filter(|path| path.exists()).collect()
}

/// The entries of a folder, sorted.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}
