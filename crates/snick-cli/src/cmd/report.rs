//! `snick report`: an HTML page that shows a model.

use std::path::PathBuf;

use clap::Args;
use snick::{Format, ReportOptions, WrittenFile};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::overwrite::OverwriteOptions;
use crate::cli::{help, json, model};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick report model.xml -o model.html", "Write a page with the graph, sizes, cost and findings"),
        ("snick report old.xml --diff new.xml -o changes.html", "Also show what changed"),
    ],
    "inference finds an error"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// The page to write: one HTML file that loads nothing else
    #[arg(short, long, value_name = "R.html")]
    output: PathBuf,
    /// Also show the changes from MODEL to this model
    #[arg(long, value_name = "OTHER")]
    diff: Option<PathBuf>,
    #[command(flatten)]
    overwrite: OverwriteOptions,
}

/// Reads, infers, writes the page.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let of_other = options.diff.as_ref().map(|path| ModelOptions {
        model: path.clone(),
        weights: None,
        ..options.model.clone()
    });
    let mut other = of_other.map(|options| model::load(&options, console)).transpose()?;
    let files = [Some(&model), other.as_ref()].into_iter().flatten().flat_map(|model| model.files());
    options.overwrite.check(files.map(PathBuf::as_path), &options.output)?;
    if let Some(format) = Format::to_write(&options.output) {
        let (path, name) = (options.output.display(), format.name());
        return Err(Failure::usage(format!(
            "{path}: a report is an HTML page, but this is a name for {name}; use `snick convert` for that"
        )));
    }
    let mut errors = model::infer(&mut model, console)?;
    if let Some(other) = &mut other {
        errors.extend(model::infer(other, console)?);
    }
    errors.iter().for_each(|error| console.located(error));
    let page = ReportOptions::new();
    let page = match &other {
        Some(other) => page.diff(other),
        None => page,
    };
    let page = model.report(&page)?;
    console.wrote(&[WrittenFile::write(&options.output, |file| file.write_all(page.as_bytes()))?]);
    if common.format == OutputFormat::Json {
        console.print(&json::written("snick.report/1", &options.output, &errors))?;
    }
    Ok(Outcome::finding(!errors.is_empty()))
}
