//! Chooses the file for the large constants of a model so that constants of other models are never
//! overwritten.
//!
//! The rules for the names of these files:
//!
//! - `m.xml` keeps its constants in `m.bin`.
//! - `m.snick` also uses `m.bin`. If `m.bin` belongs to another model, it uses `m.snick.bin` instead.
//! - When `m.snick` is read, `m.snick.bin` takes precedence over `m.bin`, unless `m.snick.xml` exists and
//!   owns `m.snick.bin`.
//! - If `m.xml` or `m.snick.xml` is written next to an existing `m.snick` that uses the same constants file,
//!   the constants of `m.snick` move to the other of these two files. If both files are taken, nothing is
//!   written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use snick_ir::Format;
use snick_ir::text::has_packed_weights;

use crate::Error;

/// The file for the constants of a model.
pub(crate) struct WeightsPlace {
    pub path: PathBuf,
    /// Further names for the existing file at this path. They are created before the file is replaced, so
    /// that text forms that use it still find their constants.
    pub old: Vec<PathBuf>,
}

impl WeightsPlace {
    /// Finds the file for the constants of a model with this format and path.
    ///
    /// # Errors
    /// The format has no file for constants, or the file may belong to another model.
    pub fn find(format: Format, model: &Path) -> Result<Self, Error> {
        let Some(path) = place(format, model) else {
            return Err(Error::Target { path: model.to_path_buf() });
        };
        let refused = |why: String| {
            let why = format!("{why}; remove it or choose another name");
            Error::io(&path, io::Error::new(io::ErrorKind::AlreadyExists, why))
        };
        let belongs_to = |other: &Path| refused(format!("it belongs to {}", other.display()));
        // On a case-sensitive file system, `m.ONNX` and `m.onnx` are two models with the same weights file.
        let is_other = |other: &&PathBuf| {
            *other != model && fs::canonicalize(other).ok() != fs::canonicalize(model).ok()
        };
        let rivals = format.beside(model);
        let irs = if format == Format::Text { Format::OpenVino.beside(&path) } else { Vec::new() };
        if let Some(other) = rivals.iter().find(is_other).or(irs.first()) {
            return Err(belongs_to(other));
        }
        let mut old = Vec::new();
        for text in texts(&path).filter(|text| text != model && reads(text, &path)) {
            let mut others = Format::Text.weights_files(&text).filter(|file| *file != path && !file.exists());
            let free = others.find(|file| !belongs_to_ir(file) && texts(file).all(|other| other == text));
            old.push(free.ok_or_else(|| belongs_to(&text))?);
        }
        if path.is_file() && old.is_empty() && !model.exists() {
            let name = model.file_name().unwrap_or_default().to_string_lossy();
            return Err(refused(format!(
                "it is there, and {name} is not, so it may belong to another model"
            )));
        }
        Ok(Self { path, old })
    }
}

/// The file to which [`Model::save`](crate::Model::save) would write large constants. The model need not have
/// any.
///
/// ```
/// use std::path::{Path, PathBuf};
///
/// assert_eq!(snick::weights_file(Path::new("no/such/net.xml")), Some(PathBuf::from("no/such/net.bin")));
/// assert_eq!(snick::weights_file(Path::new("no/such/net.svg")), None);
/// ```
pub fn weights_file(model: &Path) -> Option<PathBuf> {
    Format::to_write(model).and_then(|format| place(format, model))
}

fn place(format: Format, model: &Path) -> Option<PathBuf> {
    let (own, shared) = (format.weights_files(model).next()?, format.weights_files(model).last()?);
    let is_preferred = own == shared || own.exists() && !belongs_to_ir(&own);
    let is_ours = || {
        !belongs_to_ir(&shared)
            && texts(&shared).all(|text| text == model)
            && (!shared.exists() || reads(model, &shared))
    };
    Some(if is_preferred || !is_ours() { own } else { shared })
}

fn belongs_to_ir(weights: &Path) -> bool {
    !Format::OpenVino.beside(weights).is_empty()
}

/// The text forms that may keep their constants in this file. For `m.snick.bin`, these are `m.snick.snick`
/// and `m.snick`.
fn texts(weights: &Path) -> impl Iterator<Item = PathBuf> {
    let own = weights.with_extension("");
    let is_own = own.extension().is_some_and(|extension| extension == Format::Text.extension());
    let owners = if is_own { Format::Text.beside(&own) } else { Vec::new() };
    Format::Text.beside(weights).into_iter().chain(owners)
}

/// Whether a text form exists and its constants are in this file.
fn reads(text: &Path, weights: &Path) -> bool {
    text.is_file()
        && Format::Text.weights_of(text).as_deref() == Some(weights)
        && fs::read_to_string(text).is_ok_and(|text| has_packed_weights(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Model, SaveOptions, load, write_file};

    /// A folder that is removed at the end of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("snick-places-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    /// A model that adds the numbers from `first` to `first + 19` to its input: more than the text form
    /// prints inline.
    fn model(first: u8) -> Model {
        let values: Vec<String> = (0..20).map(|i| (first + i).to_string()).collect();
        let text = |values: &[String]| {
            format!(
                "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: u8, shape: \"20\"}}\n  \
                 %c = Const-1 u8[20] <{}>\n  %s = Add-1(%x, %c)\n  %y = Result-1(%s)\n}}\n",
                values.join(", ")
            )
        };
        let mut model = crate::parse(&text(&values)).unwrap();
        model.infer().into_result().unwrap();
        model
    }

    /// The first element of the constant.
    fn first(model: &Model) -> u8 {
        let id = model.graph().find("c").unwrap();
        model.graph().node(id).outputs().next().unwrap().as_tensor().unwrap().as_slice::<u8>().unwrap()[0]
    }

    fn read(path: &Path) -> u8 {
        let mut model = load(path).unwrap();
        model.infer().into_result().unwrap();
        first(&model)
    }

    #[test]
    fn formats_of_one_name_keep_their_weights_in_any_order() {
        let extensions = ["xml", "snick", "onnx", "mlir", "xml", "snick", "snick", "xml"];
        for start in 0..4 {
            let folder = Folder::new(&format!("orders-{start}"));
            let mut last: std::collections::BTreeMap<&str, u8> = [].into();
            for (extension, number) in extensions[start..].iter().zip(1..) {
                model(number).save(folder.0.join("m").with_extension(extension)).unwrap();
                last.insert(extension, number);
                for (extension, number) in last.iter().filter(|(extension, _)| **extension != "mlir") {
                    let path = folder.0.join("m").with_extension(extension);
                    assert_eq!(read(&path), *number, "{extension} after {:?}", folder.names());
                }
            }
        }
    }

    /// A save that is refused must not change any file.
    #[test]
    fn names_that_share_weights_keep_them_in_any_order() {
        const NAMES: [&str; 8] = [
            "m.snick",
            "m.snick.xml",
            "m.xml",
            "m.onnx",
            "m.snick.snick",
            "m.SNICK",
            "m.snick.XML",
            "m.ONNX",
        ];
        // On other systems, names that differ only in case may be the same file.
        let all = if cfg!(target_os = "linux") { NAMES.len() } else { 5 };
        for (names, steps) in [(&NAMES[..5], 4), (&NAMES[..all], 3)] {
            for order in 0..names.len().pow(steps) {
                let folder = Folder::new("names");
                let mut last: std::collections::BTreeMap<&str, u8> = [].into();
                for (step, number) in (0..steps).zip(1..) {
                    let name = names[order / names.len().pow(step) % names.len()];
                    match model(number).save(folder.0.join(name)) {
                        Ok(_) => drop(last.insert(name, number)),
                        Err(error) => assert!(matches!(error, Error::Io { .. }), "{error}"),
                    }
                    for (other, number) in &last {
                        let files = folder.names();
                        assert_eq!(read(&folder.0.join(other)), *number, "{other} after {name} in {files:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_form_and_an_ir_of_its_name_can_both_be_saved() {
        for names in [["m.snick", "m.snick.xml"], ["m.snick", "m.xml"], ["m.snick", "m.snick.snick"]] {
            for order in [[0, 1, 0, 1], [1, 0, 1, 0]] {
                let folder = Folder::new("both");
                for (at, number) in order.into_iter().zip(1..) {
                    model(number).save(folder.0.join(names[at])).unwrap();
                    assert_eq!(read(&folder.0.join(names[at])), number);
                }
            }
        }
    }

    #[test]
    fn a_model_that_is_mapped_is_written_over_itself() {
        for name in ["m.xml", "m.snick"] {
            let folder = Folder::new(name);
            let path = folder.0.join(name);
            model(1).save(&path).unwrap();
            let mut mapped = load(&path).unwrap();
            model(2).save(&path).unwrap();
            mapped.infer().into_result().unwrap();
            assert_eq!((first(&mapped), read(&path)), (1, 2));
            mapped.save(&path).unwrap();
            assert_eq!((first(&mapped), read(&path)), (1, 1));
            assert_eq!(folder.names().len(), 2);
        }
    }

    #[test]
    fn the_text_form_has_the_bin_to_itself_if_there_is_no_other_model() {
        let folder = Folder::new("alone");
        let path = folder.0.join("m.snick");
        for number in [1, 2] {
            model(number).save(&path).unwrap();
            assert_eq!((folder.names(), read(&path)), (vec!["m.bin".into(), "m.snick".into()], number));
        }
        let names: Vec<PathBuf> = model(1)
            .to_files("m.snick", SaveOptions::new())
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["m.snick.bin", "m.snick"].map(PathBuf::from));
    }

    #[test]
    fn weights_of_an_unknown_model_are_not_written_over() {
        for (name, weights) in [("m.xml", "m.bin"), ("m.snick", "m.bin")] {
            let folder = Folder::new(&format!("unknown-{name}"));
            let (path, weights) = (folder.0.join(name), folder.0.join(weights));
            write_file(&weights, |file| file.write_all(b"precious")).unwrap();
            let saved = model(1).save(&path);
            assert_eq!(saved.is_ok(), name == "m.snick", "{saved:?}");
            assert_eq!(fs::read(&weights).unwrap(), b"precious");
            assert_eq!(weights_file(&path).unwrap() == weights, name == "m.xml");
        }
    }
}
