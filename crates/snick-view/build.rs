//! Joins the scripts of the viewer into one, and compresses it and the style sheet, so that programs stay small.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=assets");
    let mut scripts = BTreeMap::new();
    for entry in fs::read_dir("assets")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "js") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            scripts.insert(name, fs::read_to_string(path)?);
        }
    }
    let mut joined = Joined { scripts: &scripts, names: Vec::new(), text: String::new() };
    scripts.keys().for_each(|name| joined.add(name));
    let folder = env::var("OUT_DIR")?;
    compress(&Path::new(&folder).join("viewer.js.deflate"), &joined.text)?;
    compress(&Path::new(&folder).join("viewer.css.deflate"), &fs::read_to_string("assets/viewer.css")?)
}

/// Scripts that share a scope, each after the scripts that it imports.
struct Joined<'s> {
    scripts: &'s BTreeMap<String, String>,
    names: Vec<&'s str>,
    text: String,
}

impl<'s> Joined<'s> {
    fn add(&mut self, name: &'s str) {
        if self.names.contains(&name) {
            return;
        }
        // Added at once, so that scripts which import each other end.
        self.names.push(name);
        let Some(script) = self.scripts.get(name) else { return };
        for line in script.lines().filter(|line| line.starts_with("import ")) {
            if let Some(imported) = line.split("\"./").nth(1).and_then(|rest| rest.split('"').next()) {
                self.add(imported);
            }
        }
        for line in script.lines().filter(|line| !line.starts_with("import ")) {
            self.text += line.strip_prefix("export ").unwrap_or(line);
            self.text.push('\n');
        }
    }
}

fn compress(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    let mut encoder = DeflateEncoder::new(fs::File::create(path)?, Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()?;
    Ok(())
}
