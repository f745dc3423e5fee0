//! Writes a model to a file.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use snick_directml::FeatureLevel;
use snick_emit::Precision;
use snick_emit::openvino::{self, SliceAs};
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};
use snick_ir::{Format, Graph, Release, onnx_opsets};

use crate::Error;
use crate::files::{Files, MemoryFiles, OutputFiles, WrittenFile};

/// Options for saving. Each applies to one format.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// use snick::{SaveOptions, SliceAs};
///
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// model.canonicalise();
/// # let out = std::env::temp_dir().join(format!("snick-doctest-options-{}.xml", std::process::id()));
/// // For readers that do not know opset8.
/// model.save_with(&out, SaveOptions::new().slice_as(SliceAs::StridedSlice))?;
/// # std::fs::remove_file(&out).and_then(|()| std::fs::remove_file(out.with_extension("bin"))).unwrap();
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SaveOptions {
    /// The feature level of a DirectML description.
    pub feature_level: FeatureLevel,
    /// The operation that represents the `slice` primitive in an OpenVINO IR.
    pub slice_as: SliceAs,
    /// The operations of an MLIR file.
    pub dialect: MlirDialect,
    /// The precision of computations in an MLIR file.
    pub precision: Precision,
    /// What has to read the model; `None` for the newest release or opset.
    pub target: Option<SaveTarget>,
}

/// The operations of an MLIR file.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum MlirDialect {
    /// StableHLO, the input of XLA.
    #[default]
    StableHlo,
    /// Linalg, tensor, arith, math and scf, the input of compilers such as IREE.
    Linalg,
}

/// What has to read a model.
///
/// ```
/// use snick::{Release, SaveTarget};
///
/// let target: SaveTarget = "openvino=2023.0".parse()?;
/// assert_eq!(target, SaveTarget::OpenVino(Release::new(2023, 0)));
/// # Ok::<(), String>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SaveTarget {
    /// A release of OpenVINO; the model is an OpenVINO IR.
    OpenVino(Release),
    /// An opset of ONNX; the model is an ONNX model of the IR version that was released with it.
    Onnx(i64),
}

impl SaveTarget {
    /// The format in which the model is written.
    pub fn format(self) -> Format {
        match self {
            Self::OpenVino(_) => Format::OpenVino,
            Self::Onnx(_) => Format::Onnx,
        }
    }
}

impl FromStr for SaveTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("openvino", release)) => release.parse().map(Self::OpenVino),
            Some(("onnx", opset)) => {
                let known = onnx_opsets::known().find(|known| known.to_string() == opset);
                known.map(Self::Onnx).ok_or_else(|| {
                    let known: Vec<_> = onnx_opsets::known().map(|known| known.to_string()).collect();
                    format!("expected an opset, one of {}", known.join(", "))
                })
            }
            _ => Err("expected a target such as openvino=2023.0 or onnx=13".to_string()),
        }
    }
}

impl Display for SaveTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenVino(release) => write!(f, "openvino={release}"),
            Self::Onnx(opset) => write!(f, "onnx={opset}"),
        }
    }
}

impl Default for SaveOptions {
    /// For OpenVINO IR, the slice operation for which OpenVINO infers the most precise shapes. For DirectML,
    /// the lowest feature level that can slice all element types.
    fn default() -> Self {
        Self {
            feature_level: FeatureLevel::V4_1,
            slice_as: SliceAs::default(),
            dialect: MlirDialect::default(),
            precision: Precision::default(),
            target: None,
        }
    }
}

impl SaveOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the feature level of a DirectML description.
    #[must_use]
    pub fn feature_level(self, feature_level: FeatureLevel) -> Self {
        Self { feature_level, ..self }
    }

    /// Sets the operation that represents the `slice` primitive in an OpenVINO IR.
    #[must_use]
    pub fn slice_as(self, slice_as: SliceAs) -> Self {
        Self { slice_as, ..self }
    }

    /// Sets what has to read the model. Newer operations are rewritten. The model must be written in the
    /// format of the target.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: boolean, shape: \"N\"}\n  \
    /// #             %a = BitwiseNot-13(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let options = snick::SaveOptions::new().target("openvino=2023.0".parse()?);
    /// let files = model.to_files("not.xml", options)?;
    /// assert!(String::from_utf8_lossy(&files[1].1).contains("LogicalNot"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn target(self, target: SaveTarget) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Sets the operations of an MLIR file.
    #[must_use]
    pub fn dialect(self, dialect: MlirDialect) -> Self {
        Self { dialect, ..self }
    }

    /// Sets the precision of computations in an MLIR file.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }
}

/// Writes the graph in the format of the file extension, and returns the files. Either all files are written
/// or none.
pub(crate) fn save(graph: &Graph, path: &Path, options: SaveOptions) -> Result<Vec<WrittenFile>, Error> {
    let mut files = OutputFiles::new();
    write(graph, path, options, &mut files)?;
    files.commit_listed()
}

/// Returns the files that [`save`] would write.
pub(crate) fn to_files(
    graph: &Graph,
    path: &Path,
    options: SaveOptions,
) -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
    let mut files = MemoryFiles::default();
    write(graph, path, options, &mut files)?;
    Ok(files.0)
}

fn write(graph: &Graph, path: &Path, options: SaveOptions, files: &mut dyn Files) -> Result<(), Error> {
    let format = Format::to_write(path);
    if let Some(target) = options.target.filter(|target| Some(target.format()) != format) {
        let (path, format) = (path.to_path_buf(), target.format());
        return Err(Error::OtherFormat { path, target: target.to_string(), format });
    }
    match WRITERS.iter().find(|(known, _)| Some(*known) == format) {
        Some((_, write)) => write(graph, path, options, files),
        None => Err(Error::Target { path: path.to_path_buf() }),
    }
}

/// A function that writes all files of a model at this path.
type Writer = fn(&Graph, &Path, SaveOptions, &mut dyn Files) -> Result<(), Error>;

/// The writer of each format.
const WRITERS: &[(Format, Writer)] = &[
    (Format::OpenVino, write_openvino),
    #[cfg(feature = "onnx")]
    (Format::Onnx, write_onnx),
    (Format::StableHlo, |graph, path, options, files| match options.dialect {
        MlirDialect::StableHlo => put_text(files, path, &snick_emit::stablehlo(graph, options.precision)?),
        MlirDialect::Linalg => put_text(files, path, &snick_emit::linalg(graph, options.precision)?),
    }),
    (Format::ModelExplorer, |graph, path, _, files| {
        put_text(files, path, &snick_emit::model_explorer(graph))
    }),
    (Format::DirectMl, |graph, path, options, files| {
        put_text(files, path, &snick_emit::directml(graph, options.feature_level)?)?;
        files.set_version(format!("feature level {}", options.feature_level));
        Ok(())
    }),
    (Format::Text, write_text_form),
    (Format::Dot, |graph, path, _, files| put_text(files, path, &snick_emit::dot(graph, &|_| false))),
    #[cfg(feature = "view")]
    (Format::Svg, |graph, path, _, files| {
        put_text(files, path, &snick_view::svg(graph, &snick_view::PictureOptions::new()))
    }),
];

fn put_text(files: &mut dyn Files, path: &Path, text: &dyn Display) -> Result<(), Error> {
    files.put(path, &|file| write!(file, "{text}"))
}

// Writes weights before the model, so that a concurrent reader of the model finds its weights.

fn write_openvino(
    graph: &Graph,
    path: &Path,
    options: SaveOptions,
    files: &mut dyn Files,
) -> Result<(), Error> {
    let ir = match options.target {
        Some(SaveTarget::OpenVino(release)) => openvino::for_release(graph, options.slice_as, release)?,
        _ => openvino::openvino(graph, options.slice_as)?,
    };
    let weights = files.weights(Format::OpenVino, path)?;
    files.put(&weights, &|file| ir.bin.write(file))?;
    files.put(path, &|file| file.write_all(ir.xml.as_bytes()))?;
    files.set_version(format!("IR v{}", ir.version));
    Ok(())
}

#[cfg(feature = "onnx")]
fn write_onnx(graph: &Graph, path: &Path, options: SaveOptions, files: &mut dyn Files) -> Result<(), Error> {
    let data = path.with_extension("onnx.data");
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    let model = match options.target {
        Some(SaveTarget::Onnx(opset)) => snick_emit::onnx::for_opset(graph, &name, opset)?,
        _ => snick_emit::onnx::onnx(graph, &name)?,
    };
    if !model.data.is_empty() {
        let weights = files.weights(Format::Onnx, path)?;
        files.put(&weights, &|file| model.data.write(file))?;
    }
    files.put(path, &|file| model.model.write(file))?;
    files.set_version(format!("opset {}", model.opset));
    Ok(())
}

fn write_text_form(graph: &Graph, path: &Path, _: SaveOptions, files: &mut dyn Files) -> Result<(), Error> {
    let weights = packed_weights(graph);
    if !weights.is_empty() {
        let place = files.weights(Format::Text, path)?;
        files.put(&place, &|file| weights.write(file))?;
    }
    let how = PrintOptions::new().weights(Weights::Packed);
    files.put(path, &|file| file.write_all(print(graph, how).as_bytes()))
}

/// Writes Graphviz if the file extension is `.dot`, SVG otherwise.
#[cfg(feature = "view")]
pub(crate) fn save_picture(
    graph: &Graph,
    path: &Path,
    options: &snick_view::PictureOptions,
) -> Result<WrittenFile, Error> {
    let picture = match Format::to_write(path) {
        Some(Format::Dot) => snick_emit::dot(graph, &|layer| options.is_failed(layer)),
        _ => snick_view::svg(graph, options),
    };
    WrittenFile::write(path, |file| file.write_all(picture.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relu() -> Graph {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
                    %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        graph
    }

    #[test]
    fn each_format_that_can_be_written_has_a_writer() {
        let is_known = |format: &Format| match format {
            Format::Onnx => cfg!(feature = "onnx"),
            Format::Svg => cfg!(feature = "view"),
            format => format.can_write(),
        };
        for format in Format::ALL.into_iter().filter(is_known) {
            let path = Path::new("model").with_extension(format.extension());
            match to_files(&relu(), &path, SaveOptions::new()) {
                Ok(files) => assert!(files.iter().any(|(file, bytes)| *file == path && !bytes.is_empty())),
                // Only slices can be expressed in a DirectML description.
                Err(error) => assert_eq!((format, error.code()), (Format::DirectMl, "S051")),
            }
        }
    }

    #[test]
    fn a_target_is_a_release_or_a_known_opset() {
        let parse = |text: &str| text.parse::<SaveTarget>().ok();
        assert_eq!(parse("onnx=13"), Some(SaveTarget::Onnx(13)));
        assert_eq!(parse("openvino=2023.0"), Some(SaveTarget::OpenVino(Release::new(2023, 0))));
        for text in ["onnx=10", "onnx=99", "onnx=013", "onnx=", "onnx", "torch=2"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(SaveTarget::Onnx(13).to_string(), "onnx=13");
        let save =
            |path: &str| to_files(&relu(), Path::new(path), SaveOptions::new().target(SaveTarget::Onnx(13)));
        assert!(matches!(save("model.xml"), Err(Error::OtherFormat { format: Format::Onnx, .. })));
        assert_eq!(save("model.onnx").is_ok(), cfg!(feature = "onnx"));
    }

    /// A new format only needs a function like this one, and an entry in [`WRITERS`].
    #[test]
    fn a_writer_is_a_function_of_the_graph() {
        let names: Writer = |graph, path, _, files| {
            let names: Vec<&str> = graph.ids().map(|id| graph.node(id).name()).collect();
            put_text(files, path, &names.join("\n"))
        };
        let mut files = MemoryFiles::default();
        names(&relu(), Path::new("g.names"), SaveOptions::new(), &mut files).unwrap();
        assert_eq!(files.0, [(PathBuf::from("g.names"), b"x\na\ny".to_vec())]);
    }
}
