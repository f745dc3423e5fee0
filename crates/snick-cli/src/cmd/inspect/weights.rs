//! The table of weights.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use snick::{Grouping, WeightKind, WeightsOf};
use snick_ir::text::Escaped;

use super::bytes_text;

/// Number of uncompressed layers to show.
const SHOWN: usize = 8;

type Weights = BTreeMap<WeightKind, WeightsOf>;

/// Writes the table, if there are any weights: storage type, granularity of scales, count, bytes, and bits
/// per weight. If some weights are compressed, the layers of uncompressed weights are listed.
pub(super) fn write(weights: &Weights, text: &mut String) {
    if weights.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nweights       scale           count       size   bits  layers");
    for (kind, of_kind) in weights {
        let _ = writeln!(
            text,
            "  {:<10}  {:<12} {:>9} {:>12} {:>5.1}  {}",
            kind.element_type.to_string(),
            kind.grouping.to_string(),
            of_kind.count,
            bytes_text(of_kind.bytes),
            of_kind.bits(),
            of_kind.layers.len()
        );
    }
    let bits = total_bits(weights);
    if weights.len() > 1 {
        let _ = writeln!(text, "  in all {bits:.2} bits a weight");
    }
    let plain = weights.iter().filter(|(kind, _)| kind.grouping == Grouping::None);
    let plain: Vec<&str> = plain.flat_map(|(_, of_kind)| &of_kind.layers).map(String::as_str).collect();
    let compressed = weights.keys().any(|kind| kind.grouping != Grouping::None);
    for layer in plain.iter().take(if compressed { SHOWN } else { 0 }) {
        let _ = writeln!(text, "  not compressed: {}", Escaped(layer));
    }
    if compressed && plain.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", plain.len() - SHOWN);
    }
}

/// Bits per weight over all weights.
fn total_bits(weights: &Weights) -> f64 {
    let sum =
        |size: fn(&WeightsOf) -> usize| weights.values().map(|of_kind| size(of_kind) as f64).sum::<f64>();
    8.0 * sum(|of_kind| of_kind.bytes) / sum(|of_kind| of_kind.count).max(1.0)
}

/// A list of kinds with the names of their layers.
pub(super) fn serialize<S: Serializer>(weights: &Weights, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WeightsOfKind<'w> {
        #[serde(flatten)]
        kind: &'w WeightKind,
        #[serde(flatten)]
        of_kind: &'w WeightsOf,
        bits: f64,
    }
    // Rounds like the text output, half to even: 4.0625 to 4.062.
    let bits = |of_kind: &WeightsOf| format!("{:.3}", of_kind.bits()).parse().unwrap_or_default();
    let rows = weights.iter().map(|(kind, of_kind)| WeightsOfKind { kind, of_kind, bits: bits(of_kind) });
    serializer.collect_seq(rows)
}
