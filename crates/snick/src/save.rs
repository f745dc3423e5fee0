//! Writes a model to a file.

use std::path::{Path, PathBuf};

use snick_directml::FeatureLevel;
use snick_emit::Precision;
use snick_emit::openvino::{self, SliceAs};
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};
use snick_ir::{Format, Graph};

use crate::Error;
use crate::files::{Files, MemoryFiles, OutputFiles};

/// Choices that the formats leave.
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
/// // For readers that are older than opset8.
/// model.save_with(&out, SaveOptions::new().slice_as(SliceAs::StridedSlice))?;
/// # std::fs::remove_file(&out).and_then(|()| std::fs::remove_file(out.with_extension("bin"))).unwrap();
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SaveOptions {
    /// The feature level of a DirectML description.
    pub feature_level: FeatureLevel,
    /// The operation that a `slice` primitive is written as in an OpenVINO IR.
    pub slice_as: SliceAs,
    /// How exactly StableHLO computes.
    pub precision: Precision,
}

impl Default for SaveOptions {
    /// The slice operation of which OpenVINO infers most, and the lowest feature level that slices every type it has.
    fn default() -> Self {
        Self {
            feature_level: FeatureLevel::V4_1,
            slice_as: SliceAs::default(),
            precision: Precision::default(),
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

    /// Sets the operation that a `slice` primitive is written as in an OpenVINO IR.
    #[must_use]
    pub fn slice_as(self, slice_as: SliceAs) -> Self {
        Self { slice_as, ..self }
    }

    /// Sets how exactly StableHLO computes.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }
}

/// Writes the graph in the format of the file extension: all of its files, or none.
pub(crate) fn save(graph: &Graph, path: &Path, options: SaveOptions) -> Result<(), Error> {
    let mut files = OutputFiles::new();
    write(graph, path, options, &mut files)?;
    files.commit()
}

/// The same files in memory.
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
    // Weights come first, so that a reader of the model finds them.
    match Format::to_write(path) {
        Some(Format::OpenVino) => {
            let ir = openvino::openvino(graph, options.slice_as)?;
            let weights = files.weights(Format::OpenVino, path)?;
            files.put(&weights, &|file| ir.bin.write(file))?;
            files.put(path, &|file| file.write_all(ir.xml.as_bytes()))?;
        }
        #[cfg(feature = "onnx")]
        Some(Format::Onnx) => {
            let data = path.with_extension("onnx.data");
            let name = data.file_name().unwrap_or_default().to_string_lossy();
            let model = snick_emit::onnx::onnx(graph, &name)?;
            if !model.data.is_empty() {
                let weights = files.weights(Format::Onnx, path)?;
                files.put(&weights, &|file| model.data.write(file))?;
            }
            files.put(path, &|file| model.model.write(file))?;
        }
        Some(Format::DirectMl) => {
            let text = snick_emit::directml(graph, options.feature_level)?;
            files.put(path, &|file| file.write_all(text.as_bytes()))?;
        }
        Some(Format::Text) => {
            let weights = packed_weights(graph);
            if !weights.is_empty() {
                let place = files.weights(Format::Text, path)?;
                files.put(&place, &|file| weights.write(file))?;
            }
            let how = PrintOptions::new().weights(Weights::Packed);
            files.put(path, &|file| file.write_all(print(graph, how).as_bytes()))?;
        }
        Some(Format::StableHlo) => {
            let module = snick_emit::stablehlo(graph, options.precision)?;
            files.put(path, &|file| write!(file, "{module}"))?;
        }
        Some(Format::Dot) => {
            let text = snick_emit::dot(graph, &|_| false);
            files.put(path, &|file| file.write_all(text.as_bytes()))?;
        }
        Some(Format::ModelExplorer) => {
            let text = snick_emit::model_explorer(graph);
            files.put(path, &|file| file.write_all(text.as_bytes()))?;
        }
        #[cfg(feature = "view")]
        Some(Format::Svg) => {
            let picture = snick_view::svg(graph, &snick_view::PictureOptions::new());
            files.put(path, &|file| file.write_all(picture.as_bytes()))?;
        }
        _ => return Err(Error::Target { path: path.to_path_buf() }),
    }
    Ok(())
}

/// Writes the graph as Graphviz if the file is called so, and otherwise as SVG.
#[cfg(feature = "view")]
pub(crate) fn save_picture(
    graph: &Graph,
    path: &Path,
    options: &snick_view::PictureOptions,
) -> Result<(), Error> {
    let picture = match Format::to_write(path) {
        Some(Format::Dot) => snick_emit::dot(graph, &|layer| options.is_failed(layer)),
        _ => snick_view::svg(graph, options),
    };
    let mut files = OutputFiles::new();
    files.add(path, |file| file.write_all(picture.as_bytes()))?;
    files.commit()
}
