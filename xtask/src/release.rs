//! `cargo xtask release`: builds and tests a release in a clone of the checkout, then pushes its tag.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::process::{file_error, output, read, run, say, write};
use crate::{Error, changelog, versions};

/// The platforms whose archives can be built and run on Linux. The workflows build all archives.
const TARGETS: [&str; 3] =
    ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"];

#[derive(Args)]
pub struct Options {
    /// The version, such as 0.2.0
    version: String,
    /// Push nothing; print what would be pushed
    #[arg(long)]
    dry_run: bool,
    /// Build and test only these artefacts; needs `--dry-run`
    #[arg(long, value_delimiter = ',', requires = "dry_run")]
    only: Vec<Artefact>,
    /// The SSH key that signs the checksums; a dry run makes one if it is omitted
    #[arg(long, required_unless_present = "dry_run")]
    key: Option<PathBuf>,
}

/// What a release publishes.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum Artefact {
    /// Archives with the program, for several platforms
    Archives,
    /// The wheel
    Wheel,
    /// The source distribution of the Python package
    Sdist,
    /// The engine of the browser page
    Npm,
    /// The crates
    Crates,
}

impl Artefact {
    /// The scripts that build and test the artefact in the folder `out`.
    fn scripts(self, out: &str) -> Vec<Vec<&str>> {
        match self {
            Self::Archives => TARGETS.iter().map(|target| vec!["packaging/archive", target, out]).collect(),
            Self::Wheel => vec![
                vec!["packaging/wheel", "x86_64-unknown-linux-gnu", out],
                vec!["packaging/test_python", out, "whl"],
            ],
            Self::Sdist => vec![vec!["packaging/sdist", out], vec!["packaging/test_python", out, "tar.gz"]],
            Self::Npm => vec![vec!["packaging/npm", out], vec!["packaging/test_npm", out]],
            Self::Crates => vec![vec!["packaging/crates"]],
        }
    }
}

/// Makes the release, or says what it would push.
pub fn make(options: &Options) -> Result<(), Error> {
    let version = &options.version;
    if !versions::is_version(version) {
        return Err(Error::Refused(format!("{version} is not a version such as 0.2.0")));
    }
    let checkout = PathBuf::from(output(Path::new("."), &["git", "rev-parse", "--show-toplevel"])?);
    if !output(&checkout, &["git", "status", "--porcelain"])?.is_empty() {
        return Err(Error::Refused("commit or discard the changes of the checkout first".into()));
    }
    let folder = checkout.join("target/publish").join(version);
    let source = folder.join("source");
    let out = folder.join("artefacts");
    for stale in [&source, &out] {
        if stale.exists() {
            std::fs::remove_dir_all(stale).map_err(|error| file_error(stale, &error))?;
        }
    }
    std::fs::create_dir_all(&out).map_err(|error| file_error(&out, &error))?;
    let (from, to) = (checkout.display().to_string(), source.display().to_string());
    run(&checkout, &["git", "clone", "--quiet", "--shared", &from, &to])?;
    let repository = prepare(&source, version)?;
    if !options.dry_run && repository.contains("/OWNER/") {
        return Err(Error::Refused(format!("set the address of the repository: it is {repository}")));
    }

    let out_text = out.display().to_string();
    let artefacts = Artefact::value_variants().iter().copied();
    let is_asked = |artefact: &Artefact| options.only.is_empty() || options.only.contains(artefact);
    for artefact in artefacts.filter(is_asked) {
        for script in artefact.scripts(&out_text) {
            run(&source, &script)?;
        }
    }
    let key = options.key.as_ref().map(|key| key.display().to_string());
    let mut checksums = vec!["packaging/checksums", &out_text];
    checksums.extend(key.as_deref());
    run(&source, &checksums)?;

    let tag = format!("v{version}");
    let push = ["git", "push", &repository, "HEAD:main", &tag];
    if options.dry_run {
        say(format_args!("the artefacts are in {out_text}; without --dry-run, this would follow:"));
        say(format_args!("$ {}", push.join(" ")));
        say(
            "The workflows of the tag then publish archives, installers, wheels, the npm package and crates.",
        );
        return Ok(());
    }
    run(&source, &push)
}

/// Commits and tags the version in the clone, and returns the address of the repository.
fn prepare(source: &Path, version: &str) -> Result<String, Error> {
    let manifest_path = source.join("Cargo.toml");
    let manifest = read(&manifest_path)?;
    let of_manifest = |problem: String| file_error(&manifest_path, &problem);
    let (current, repository) = versions::current(&manifest).map_err(of_manifest)?;
    if current != version {
        write(&manifest_path, &versions::set(&manifest, version).map_err(of_manifest)?)?;
        run(source, &["cargo", "update", "--workspace", "--offline"])?;
    }
    let changelog_path = source.join("CHANGELOG.md");
    let date = output(source, &["git", "log", "-1", "--format=%cs"])?;
    let dated = changelog::dated(&read(&changelog_path)?, version, &date);
    write(&changelog_path, &dated.map_err(|problem| file_error(&changelog_path, &problem))?)?;
    run(source, &["git", "commit", "--quiet", "--all", "--message", &format!("Release {version}")])?;
    run(source, &["git", "tag", &format!("v{version}")])?;
    Ok(repository)
}
