//! Writes the seeds of graphs with each number replaced by extremes: `fuzz-extremes SEEDS FOLDER`.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use snick_fuzzing::mutate::extremes;

fn main() -> Result<(), Box<dyn Error>> {
    let mut folders = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(seeds), Some(folder)) = (folders.next(), folders.next()) else {
        return Err("usage: fuzz-extremes SEEDS FOLDER".into());
    };
    for entry in fs::read_dir(seeds)? {
        let entry = entry?;
        // The weights follow the text of a graph.
        let Ok(text) = String::from_utf8(fs::read(entry.path())?) else { continue };
        for (number, text) in extremes(&text).enumerate() {
            fs::write(folder.join(format!("{}-{number}", entry.file_name().display())), text)?;
        }
    }
    Ok(())
}
