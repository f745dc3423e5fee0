//! The file formats of models: a single list for readers, writers and messages.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The supported versions of OpenVINO IR.
pub const IR_VERSIONS: RangeInclusive<u32> = 10..=11;

/// Declares the formats with their properties. The first format whose extension matches a file name is used,
/// so `graph.json` must precede `json`.
macro_rules! formats {
    ($($(#[$doc:meta])+ $format:ident $properties:tt,)+) => {
        /// A file format of models.
        ///
        /// ```
        /// use std::path::Path;
        /// use snick::Format;
        ///
        /// assert_eq!(Format::to_write(Path::new("model.ONNX")), Some(Format::Onnx));
        /// assert_eq!(Format::to_write(Path::new("model.graph.json")), Some(Format::ModelExplorer));
        /// assert_eq!(Format::to_read(Path::new("model.dot")), None);
        /// assert!(Format::described(Format::can_write).starts_with(".xml (OpenVINO IR), .onnx,"));
        /// ```
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])+ $format,)+
        }

        impl Format {
            /// All formats, in the order in which messages list them.
            pub const ALL: [Self; [$(Self::$format),+].len()] = [$(Self::$format),+];

            const fn properties(self) -> Properties {
                match self { $(Self::$format => Properties $properties,)+ }
            }
        }
    };
}

/// Properties of a format.
struct Properties {
    name: &'static str,
    extension: &'static str,
    reads: bool,
    writes: bool,
    /// Possible extensions of the file that holds the large constants.
    weights: &'static [&'static str],
}

formats! {
    /// OpenVINO IR: an XML file, and a second file for the weights.
    OpenVino { name: "OpenVINO IR", extension: "xml", reads: true, writes: true, weights: &["bin"] },
    /// ONNX.
    Onnx { name: "ONNX", extension: "onnx", reads: true, writes: true, weights: &["onnx.data"] },
    /// StableHLO.
    StableHlo { name: "StableHLO", extension: "mlir", reads: false, writes: true, weights: &[] },
    /// A graph for Google's Model Explorer.
    ModelExplorer { name: "Model Explorer", extension: "graph.json", reads: false, writes: true, weights: &[] },
    /// Serialised nGraph functions.
    NGraph { name: "nGraph", extension: "json", reads: true, writes: false, weights: &[] },
    /// A description of DirectML operators.
    DirectMl { name: "DirectML", extension: "json", reads: true, writes: true, weights: &[] },
    /// snick's own text form.
    Text { name: "text form", extension: "snick", reads: true, writes: true, weights: &["snick.bin", "bin"] },
    /// A drawing for Graphviz.
    Dot { name: "Graphviz", extension: "dot", reads: false, writes: true, weights: &[] },
    /// A picture.
    Svg { name: "SVG", extension: "svg", reads: false, writes: true, weights: &[] },
}

impl Format {
    /// The name used in messages.
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The extension of files in this format. nGraph and DirectML share `json`.
    pub const fn extension(self) -> &'static str {
        self.properties().extension
    }

    /// Whether snick can read the format.
    pub const fn can_read(self) -> bool {
        self.properties().reads
    }

    /// Whether snick can write the format.
    pub const fn can_write(self) -> bool {
        self.properties().writes
    }

    /// The file that holds a model's large constants; `None` if the format has no such file. The file need
    /// not exist if all constants are small. If several candidates exist, prefers a file that does not belong
    /// to an OpenVINO IR; `m.bin` belongs to one if `m.xml` exists. If no candidate exists, returns the last
    /// candidate.
    ///
    /// ```
    /// use std::path::{Path, PathBuf};
    /// use snick::Format;
    ///
    /// let weights = Format::Text.weights_of(Path::new("absent.snick"));
    /// assert_eq!(weights, Some(PathBuf::from("absent.bin")));
    /// ```
    pub fn weights_of(self, path: &Path) -> Option<PathBuf> {
        let files = self.weights_files(path).filter(|file| file.exists());
        files
            .min_by_key(|file| !Self::OpenVino.beside(file).is_empty())
            .or_else(|| self.weights_files(path).last())
    }

    /// The models of this format in the folder of `file` whose names differ from its name only in the
    /// extension. The case of the extension does not matter.
    ///
    /// ```
    /// use std::path::Path;
    /// use snick::Format;
    ///
    /// assert!(Format::OpenVino.beside(Path::new("no/such/net.bin")).is_empty());
    /// ```
    pub fn beside(self, file: &Path) -> Vec<PathBuf> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
        let mut models: Vec<PathBuf> = entries.map(|entry| file.with_file_name(entry.file_name())).collect();
        models.retain(|model| {
            let extension = model.extension().unwrap_or_default();
            model.file_stem() == file.file_stem() && extension.eq_ignore_ascii_case(self.extension())
        });
        models
    }

    /// The files that may hold a model's large constants. Names that no other format uses come first.
    ///
    /// ```
    /// use std::path::Path;
    /// use snick::Format;
    ///
    /// let files: Vec<_> = Format::Text.weights_files(Path::new("net.snick")).collect();
    /// assert_eq!(files, ["net.snick.bin", "net.bin"].map(Path::new));
    /// ```
    pub fn weights_files(self, path: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.properties().weights.iter().map(|extension| path.with_extension(extension))
    }

    /// The format to read a file as, by its extension; the first format if several share the extension.
    pub fn to_read(path: &Path) -> Option<Self> {
        Self::by_extension(path, Self::can_read)
    }

    /// The format to write a file in, by its extension.
    pub fn to_write(path: &Path) -> Option<Self> {
        Self::by_extension(path, Self::can_write)
    }

    fn by_extension(path: &Path, is_possible: fn(Self) -> bool) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let has_extension = |format: &Self| {
            let stem = name.strip_suffix(format.extension()).and_then(|stem| stem.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        Self::ALL.into_iter().filter(|&format| is_possible(format)).find(has_extension)
    }

    /// The extensions of some formats: `.xml, .onnx, .json, .snick`.
    pub fn extensions(chosen: fn(Self) -> bool) -> String {
        Self::listed(chosen, |extension, _| format!(".{extension}"))
    }

    /// The extensions of some formats, with their names: `.xml (OpenVINO IR), .onnx, .snick (text form)`.
    pub fn described(chosen: fn(Self) -> bool) -> String {
        Self::listed(chosen, |extension, names| match names.eq_ignore_ascii_case(extension) {
            true => format!(".{extension}"),
            false => format!(".{extension} ({names})"),
        })
    }

    fn listed(chosen: fn(Self) -> bool, item: fn(&str, &str) -> String) -> String {
        let mut items: Vec<(&str, String)> = Vec::new();
        for format in Self::ALL.into_iter().filter(|&format| chosen(format)) {
            match items.last_mut().filter(|(extension, _)| *extension == format.extension()) {
                Some((_, names)) => *names = format!("{names}, {}", format.name()),
                None => items.push((format.extension(), format.name().to_string())),
            }
        }
        let items: Vec<String> = items.iter().map(|(extension, names)| item(extension, names)).collect();
        items.join(", ")
    }
}
