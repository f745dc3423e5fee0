//! The table of what canonicalisation does to the models of `models/`, as the README shows it. With `SNICK_CORPUS` set,
//! the same for that corpus goes to standard error.

use std::path::{Path, PathBuf};

use snick_pass::{Cost, Options, canonicalise};

use crate::files;

/// Counts of a model, or of several.
#[derive(Clone, Default)]
struct Row {
    slice_like: usize,
    slices: usize,
    lowered: Cost,
    after: Cost,
}

impl Row {
    fn of(path: &Path) -> Self {
        let mut graph = snick_read::read_file(path, None).unwrap_or_else(|e| panic!("{e}")).graph;
        snick_ir::infer(&mut graph);
        let mut lowered = graph.clone();
        canonicalise(&mut lowered, &Options::lower_only()).unwrap();
        let report = canonicalise(&mut graph, &Options::default()).unwrap();
        let (lowered, after) = (Cost::of(&lowered), Cost::of(&graph));
        Self { slice_like: report.slice_like_before, slices: report.slice_after, lowered, after }
    }

    fn add(&mut self, other: &Self) {
        self.slice_like += other.slice_like;
        self.slices += other.slices;
        for (sum, cost) in [(&mut self.lowered, other.lowered), (&mut self.after, other.after)] {
            sum.layers += cost.layers;
            sum.slices += cost.slices;
            sum.bytes += cost.bytes;
        }
    }

    fn line(&self, name: &str) -> String {
        let Self { slice_like, slices, lowered, after } = self;
        format!(
            "| {name} | {slice_like} | {} | {slices} | {} | {} | {} | {} |",
            lowered.slices, lowered.layers, after.layers, lowered.bytes, after.bytes
        )
    }
}

/// A line for each model that slices, and one for all.
fn table(models: &[PathBuf]) -> String {
    let mut lines = vec![
        "| model | slice-like | `slice`, lowered | `slice`, canonical | layers, lowered | layers, canonical | \
         bytes sliced, lowered | bytes sliced, canonical |"
            .to_string(),
        "|---|---|---|---|---|---|---|---|".to_string(),
    ];
    let mut all = Row::default();
    for path in models {
        let row = Row::of(path);
        all.add(&row);
        if row.slice_like > 1 {
            lines.push(row.line(&path.parent().unwrap().file_name().unwrap().to_string_lossy()));
        }
    }
    lines.push(all.line(&format!("all {}", models.len())));
    lines.join("\n")
}

#[test]
fn the_readme_shows_what_canonicalisation_does() {
    if let Some(corpus) = files::corpus() {
        eprintln!("{}", table(&corpus));
    }
    let table = table(&files::models());
    let readme = std::fs::read_to_string(files::root().join("README.md")).unwrap();
    let shown =
        readme.split_once("<!-- canonical -->").and_then(|(_, rest)| rest.split_once("<!-- /canonical -->"));
    let shown = shown.map(|(shown, _)| shown.trim());
    assert_eq!(
        shown,
        Some(table.as_str()),
        "between <!-- canonical --> and <!-- /canonical --> of README.md:\n{table}"
    );
}
