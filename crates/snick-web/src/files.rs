//! Sorts the files that are given to a page into models and their data files.

use std::path::{Path, PathBuf};

use snick::{Error, Format, LoadOptions, Model, Storage};

use crate::limits;
use crate::problem::Problem;

/// A file in memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct File {
    /// The name of the file, or its path inside the folder that was dropped on the page.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// A model, and the files that contain its constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelFiles {
    model: File,
    format: Format,
    /// The `.bin`, or the external data files.
    data: Vec<File>,
}

const WHAT_TO_OPEN: &str = "Open an .xml with its .bin, an .onnx with its external data, a .snick or a .json; or two of them to compare.";

/// Finds one or two models among files. A `.json` file only counts as a model if there are no other models.
///
/// # Errors
/// There is no model, or more than two.
pub fn models(files: Vec<File>) -> Result<Vec<ModelFiles>, Problem> {
    let format = |file: &File| Format::to_read(Path::new(&file.name));
    let is_json = |format: Format| matches!(format, Format::NGraph | Format::DirectMl);
    let has_others = files.iter().filter_map(format).any(|format| !is_json(format));
    let is_model = |file: &File| format(file).is_some_and(|format| !has_others || !is_json(format));
    let (found, mut data): (Vec<File>, Vec<File>) = files.into_iter().partition(is_model);
    match found.len() {
        1 | 2 => {}
        0 => return Err(Problem::new(&no_model(&data), WHAT_TO_OPEN)),
        count => return Err(Problem::new(&format!("{count} models at once"), WHAT_TO_OPEN)),
    }
    // A single model takes the data files without a copy, because no other model needs them.
    let is_alone = found.len() == 1;
    let with_data = |model: File| {
        let format = Format::to_read(Path::new(&model.name))?;
        let data = match format {
            Format::OpenVino | Format::Text => {
                let at = weights_of(&model, format, &data, is_alone);
                let weights = at.map(|at| match is_alone {
                    true => data.swap_remove(at),
                    false => data[at].clone(),
                });
                weights.into_iter().collect()
            }
            Format::Onnx if is_alone => take_external(&model, std::mem::take(&mut data)),
            Format::Onnx => take_external(&model, data.clone()),
            _ => Vec::new(),
        };
        Some(ModelFiles { model, format, data })
    };
    Ok(found.into_iter().filter_map(with_data).collect())
}

fn no_model(data: &[File]) -> String {
    match data {
        [] => "no file was given".to_string(),
        [one] => format!("{} is not a model", one.name),
        [first, ..] => format!("no model is among the {} files; the first is {}", data.len(), first.name),
    }
}

/// The index of the `.bin` with the name of the model, or of the only `.bin` if there is only one model.
fn weights_of(model: &File, format: Format, data: &[File], is_alone: bool) -> Option<usize> {
    let is_weights =
        |file: &File| Path::new(&file.name).extension().is_some_and(|it| it.eq_ignore_ascii_case("bin"));
    let stem = |path: &Path| path.with_extension("");
    let named = format.weights_files(Path::new(&model.name)).find_map(|weights| {
        data.iter().position(|file| is_weights(file) && stem(Path::new(&file.name)) == stem(&weights))
    });
    let mut all = data.iter().enumerate().filter(|(_, file)| is_weights(file)).map(|(at, _)| at);
    let only = all.next().filter(|_| is_alone && all.next().is_none());
    named.or(only)
}

/// The files in the folder of the model, with names relative to this folder.
fn take_external(model: &File, data: Vec<File>) -> Vec<File> {
    let folder = Path::new(&model.name).parent().unwrap_or(Path::new(""));
    let inside = |file: File| {
        let location = Path::new(&file.name).strip_prefix(folder).ok()?.to_str()?.to_string();
        Some(File { name: location, ..file })
    };
    data.into_iter().filter_map(inside).collect()
}

impl ModelFiles {
    /// The name of the model's file, excluding its folders.
    pub fn name(&self) -> PathBuf {
        Path::new(&self.model.name).file_name().map(PathBuf::from).unwrap_or_default()
    }

    /// The name of the model's file, including its folders.
    pub fn path(&self) -> &str {
        &self.model.name
    }

    /// The file name of the weights of a model in OpenVINO IR.
    pub fn weights_name(&self) -> Option<String> {
        let path = Path::new(&self.model.name);
        let weights = self.format.weights_files(path).next().filter(|_| self.format == Format::OpenVino)?;
        Some(weights.file_name()?.to_string_lossy().into_owned())
    }

    /// Reads the model within the limits of the page.
    ///
    /// # Errors
    /// Same as [`snick::load_storage`].
    pub fn load(self) -> Result<Model, Error> {
        let name = self.name();
        let options = LoadOptions::new().limits(limits::of_model()).name(name.to_string_lossy());
        if self.format == Format::Onnx {
            let options =
                self.data.into_iter().fold(options, |options, file| options.external(file.name, file.bytes));
            return snick::load_storage(self.format, &Storage::heap(self.model.bytes), None, &options);
        }
        let weights = self.data.into_iter().next().map(|file| Storage::heap(file.bytes));
        snick::load_storage(self.format, &Storage::heap(self.model.bytes), weights, &options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[&str]) -> Result<Vec<(String, Vec<String>)>, Problem> {
        let file = |name: &&str| File { name: name.to_string(), bytes: Vec::new() };
        let found = models(files.iter().map(file).collect())?;
        let named =
            |found: ModelFiles| (found.model.name, found.data.into_iter().map(|file| file.name).collect());
        Ok(found.into_iter().map(named).collect())
    }

    #[test]
    fn weights_belong_to_the_model_of_their_name() {
        let found = names(&["b.bin", "b.xml", "a.xml", "a.bin"]).unwrap();
        assert_eq!(found, [("b.xml".into(), vec!["b.bin".into()]), ("a.xml".into(), vec!["a.bin".into()])]);
        // With a single model and a single `.bin`, their names do not matter.
        assert_eq!(names(&["x.xml", "weights.bin"]).unwrap()[0].1, ["weights.bin"]);
        assert!(names(&["x.xml", "y.bin", "z.bin"]).unwrap()[0].1.is_empty());
        // The text form and the IR have separate weights files, even if the models have the same name.
        let found = names(&["m.xml", "m.bin", "m.snick.bin", "m.snick"]).unwrap();
        assert_eq!(
            found,
            [("m.xml".into(), vec!["m.bin".into()]), ("m.snick".into(), vec!["m.snick.bin".into()])]
        );
        assert_eq!(names(&["m.snick", "m.bin"]).unwrap()[0].1, ["m.bin"]);
        assert!(names(&["x.xml", "y.xml", "z.bin"]).unwrap().iter().all(|(_, data)| data.is_empty()));
    }

    #[test]
    fn a_folder_of_a_model_has_other_json_and_external_data() {
        let found = names(&["m/model.onnx", "m/config.json", "m/parts/model.data", "other.data"]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, ["config.json", "parts/model.data"]);
        assert_eq!(names(&["slices.json"]).unwrap().len(), 1);
    }

    #[test]
    fn files_without_a_model_say_what_to_open() {
        for files in [&[][..], &["a.bin"], &["photo.png", "a.bin"], &["a.xml", "b.xml", "c.onnx"]] {
            let problem = names(files).unwrap_err();
            assert!(problem.help.contains(".onnx"), "{problem:?}");
        }
        assert_eq!(names(&["\u{7}.png"]).unwrap_err().message, "\\u{7}.png is not a model");
    }
}
