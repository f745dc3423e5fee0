//! Writing models to files.

use std::path::PathBuf;

use super::Model;
use crate::Error;

impl Model {
    /// Writes the inferred model in the [`Format`](crate::Format) of the file extension. In OpenVINO IR and
    /// text form, large constants go to a `.bin` next to the model. A DirectML description can only contain
    /// slices, so the model must be canonical.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-{}.xml", std::process::id()));
    /// model.save(&out)?;
    /// assert_eq!(snick::load(&out)?.graph().len(), 3);
    /// # std::fs::remove_file(&out).and_then(|()| std::fs::remove_file(out.with_extension("bin"))).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the format cannot express the model, [`Error::Target`] for an unknown extension,
    /// [`Error::Io`].
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), Error> {
        self.save_with(path, crate::SaveOptions::default())
    }

    /// Like [`Model::save`], with options for the formats.
    ///
    /// # Errors
    /// Same as [`Model::save`].
    pub fn save_with(
        &self,
        path: impl AsRef<std::path::Path>,
        options: crate::SaveOptions,
    ) -> Result<(), Error> {
        self.write(path, options).map(drop)
    }

    /// Like [`Model::save_with`], and returns the files that were written, with the model last.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-write-{}.onnx", std::process::id()));
    /// let files = model.write(&out, snick::SaveOptions::new())?;
    /// assert_eq!(files[0].version.as_deref(), Some("opset 21"));
    /// # std::fs::remove_file(&out).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`Model::save`].
    pub fn write(
        &self,
        path: impl AsRef<std::path::Path>,
        options: crate::SaveOptions,
    ) -> Result<Vec<crate::WrittenFile>, Error> {
        crate::save::save(&self.graph, path.as_ref(), options)
    }

    /// Returns the files that [`Model::save_with`] would write for this path, as names and bytes, with the
    /// model last.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let files = model.to_files("relu.xml", snick::SaveOptions::new())?;
    /// let names: Vec<_> = files.iter().map(|(name, _)| name.to_string_lossy()).collect();
    /// assert_eq!(names, ["relu.bin", "relu.xml"]);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the format cannot express the model, [`Error::Target`] for an unknown extension.
    pub fn to_files(
        &self,
        name: impl AsRef<std::path::Path>,
        options: crate::SaveOptions,
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
        crate::save::to_files(&self.graph, name.as_ref(), options)
    }

    /// The model as an SVG picture; see [`Model::save_picture`].
    #[cfg(feature = "view")]
    pub fn picture(&self, options: &crate::PictureOptions) -> String {
        snick_view::svg(&self.graph, options)
    }

    /// Writes a StableHLO folder with these files:
    ///
    /// - `model.mlir`: the module; constants of 1 KiB and more are its arguments
    /// - `manifest.json`: for each such argument, the file and the location of its bytes
    /// - `folded.bin`: constants that folding computed
    ///
    /// Weights stay in the files of the model. Returns the written files, with the module last.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4,2\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::StableHloOptions;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-stablehlo-{}", std::process::id()));
    /// let options = StableHloOptions::new().mesh("batch=2".parse()?, "x[batch]".parse()?);
    /// model.save_stablehlo(&out, &options)?;
    /// assert!(std::fs::read_to_string(out.join("manifest.json")).unwrap().contains("\"sharding\":[\"batch\",null]"));
    /// # std::fs::remove_dir_all(&out).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if StableHLO cannot express the model, [`Error::Shard`] if the mesh or the rules do
    /// not fit the arguments, [`Error::Io`]. In all cases nothing is written.
    pub fn save_stablehlo(
        &self,
        folder: impl AsRef<std::path::Path>,
        options: &crate::StableHloOptions,
    ) -> Result<(), Error> {
        self.write_stablehlo(folder, options).map(drop)
    }

    /// Like [`Model::save_stablehlo`], and returns the files that were written.
    ///
    /// # Errors
    /// Same as [`Model::save_stablehlo`].
    pub fn write_stablehlo(
        &self,
        folder: impl AsRef<std::path::Path>,
        options: &crate::StableHloOptions,
    ) -> Result<Vec<crate::WrittenFile>, Error> {
        crate::mlir_folder::save(&self.graph, folder.as_ref(), options)
    }

    /// Writes a linalg folder, with the same files as [`Model::save_stablehlo`]. Compilers such as IREE take
    /// it for fixed and for dynamic sizes.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-linalg-{}", std::process::id()));
    /// model.save_linalg(&out, &snick::LinalgOptions::new())?;
    /// assert!(std::fs::read_to_string(out.join("model.mlir")).unwrap().contains("linalg.generic"));
    /// # std::fs::remove_dir_all(&out).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if linalg cannot express the model, [`Error::Io`]. In both cases nothing is written.
    pub fn save_linalg(
        &self,
        folder: impl AsRef<std::path::Path>,
        options: &crate::LinalgOptions,
    ) -> Result<(), Error> {
        self.write_linalg(folder, options).map(drop)
    }

    /// Like [`Model::save_linalg`], and returns the files that were written.
    ///
    /// # Errors
    /// Same as [`Model::save_linalg`].
    pub fn write_linalg(
        &self,
        folder: impl AsRef<std::path::Path>,
        options: &crate::LinalgOptions,
    ) -> Result<Vec<crate::WrittenFile>, Error> {
        crate::mlir_folder::save_linalg(&self.graph, folder.as_ref(), options)
    }

    /// Draws the model with its symbolic shapes as SVG, with layers from top to bottom. For the extension
    /// `.dot`, writes a graph of all layers for Graphviz.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::PictureOptions;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-picture-{}.svg", std::process::id()));
    /// model.save_picture(&out, &PictureOptions::new().around("a", 1))?;
    /// assert!(std::fs::read_to_string(&out).unwrap().contains("ReLU"));
    /// # std::fs::remove_file(&out).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`].
    #[cfg(feature = "view")]
    pub fn save_picture(
        &self,
        path: impl AsRef<std::path::Path>,
        options: &crate::PictureOptions,
    ) -> Result<(), Error> {
        self.write_picture(path, options).map(drop)
    }

    /// Like [`Model::save_picture`], and returns the file that was written.
    ///
    /// # Errors
    /// [`Error::Io`].
    #[cfg(feature = "view")]
    pub fn write_picture(
        &self,
        path: impl AsRef<std::path::Path>,
        options: &crate::PictureOptions,
    ) -> Result<crate::WrittenFile, Error> {
        crate::save::save_picture(&self.graph, path.as_ref(), options)
    }
}
