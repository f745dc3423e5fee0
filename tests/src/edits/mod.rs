//! Edits of models, and parts of models, chosen at random.

mod parts;
mod random_edits;

use std::path::PathBuf;

use snick::{LoadOptions, Model};

use crate::files;

/// All models of the repository and every twelfth model of the corpus.
fn models() -> impl Iterator<Item = (String, Model)> {
    let corpus = files::corpus().unwrap_or_default().into_iter().step_by(12);
    let paths: Vec<PathBuf> = files::models().into_iter().chain(corpus).collect();
    paths.into_iter().map(|path| {
        let mut model = snick::load_with(&path, &LoadOptions::new()).unwrap();
        let _ = model.infer();
        (files::name(&path), model)
    })
}
