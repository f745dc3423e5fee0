//! Parses the table of OpenVINO releases.

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_tensor::ElementType;

use super::{IrFeature, OpSupport, Release, TypeUse};

/// The table in memory. Releases are optional where the table may say `never`.
#[derive(Default, Debug)]
pub(super) struct Table {
    /// Ascending.
    pub(super) releases: Vec<Release>,
    pub(super) sets: HashMap<&'static str, Release>,
    /// By operation type and the set that defines the version.
    pub(super) ops: HashMap<(&'static str, &'static str), OpSupport>,
    /// By operation and set, such as `Pad-opset12`, and the number of inputs.
    pub(super) inputs: HashMap<(&'static str, usize), Option<Release>>,
    /// By operation and set, and attribute with value, such as `mode=cubic`.
    pub(super) attributes: Vec<(&'static str, &'static str, Option<Release>)>,
    pub(super) types: HashMap<(ElementType, TypeUse), Option<Release>>,
    pub(super) features: HashMap<IrFeature, Option<Release>>,
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for line in include_str!("openvino.txt").lines() {
        let _ = table.add(line);
    }
    table
});

/// The release that a line names first, or `None` for `never`.
fn since(word: &str) -> Option<Option<Release>> {
    match word {
        "never" => Some(None),
        _ => word.parse().ok().map(Some),
    }
}

impl Table {
    /// Adds a line; `None` if it is malformed.
    fn add(&mut self, line: &'static str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let (first, names) = rest.split_once(' ').unwrap_or((rest, ""));
        let names = || names.split(' ');
        match word {
            "#" | "lists" | "lacks" => {}
            "releases" => {
                self.releases = rest.split(' ').map(|release| release.parse().ok()).collect::<Option<_>>()?
            }
            "set" => {
                self.sets.extend(names().map(|set| Some((set, since(first)??))).collect::<Option<Vec<_>>>()?)
            }
            "reads" => self.add_reads(since(first)??, names())?,
            "runs" => self.add_runs(since(first)?, names())?,
            "inputs" => {
                let (op, counts) = rest.split_once(' ')?.1.split_once(' ')?;
                for count in counts.split(' ') {
                    self.inputs.insert((op, count.parse().ok()?), since(first)?);
                }
            }
            "attribute" => {
                let (op, values) = rest.split_once(' ')?.1.split_once(' ')?;
                let since = since(first)?;
                self.attributes.extend(values.split(' ').map(|value| (op, value, since)));
            }
            "type" => self.add_types(TypeUse::Port, since(first)?, names())?,
            "constant" => self.add_types(TypeUse::Constant, since(first)?, names())?,
            "conversion" => self.add_types(TypeUse::Conversion, since(first)?, names())?,
            "feature" => {
                let name = rest.split_once(' ')?.1;
                let feature = IrFeature::ALL.into_iter().find(|feature| feature.name() == name)?;
                self.features.insert(feature, since(first)?);
            }
            _ => return None,
        }
        Some(())
    }

    fn add_reads(&mut self, reads: Release, mut words: impl Iterator<Item = &'static str>) -> Option<()> {
        let set = words.next()?;
        self.ops.extend(words.map(|op| ((op, set), OpSupport { reads, runs: Some(reads) })));
        Some(())
    }

    fn add_runs(
        &mut self,
        runs: Option<Release>,
        mut words: impl Iterator<Item = &'static str>,
    ) -> Option<()> {
        let set = words.next()?;
        for op in words {
            self.ops.get_mut(&(op, set))?.runs = runs;
        }
        Some(())
    }

    fn add_types(
        &mut self,
        used: TypeUse,
        since: Option<Release>,
        names: impl Iterator<Item = &'static str>,
    ) -> Option<()> {
        for name in names {
            self.types.insert((name.parse().ok()?, used), since);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let mut table = Table::default();
        for line in include_str!("openvino.txt").lines() {
            assert_eq!(table.add(line), Some(()), "{line}");
        }
        assert!(table.releases.is_sorted());
        for line in
            ["reads soon opset1 Abs", "runs 2024.0 opset1 Nothing", "feature 2024.0 other", "other 2024.0"]
        {
            assert_eq!(table.add(line), None, "{line}");
        }
    }
}
