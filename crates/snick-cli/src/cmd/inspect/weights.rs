//! The table of weights.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use snick::{Grouping, WeightKind, WeightsOf};
use snick_ir::text::Escaped;

use super::sections::Section;
use crate::cli::layout::Layout;
use crate::cli::quantity;

type Weights = BTreeMap<WeightKind, WeightsOf>;

/// The table, if there are any weights: storage type, granularity of scales, count, bytes, bits per weight,
/// and number of layers. If some weights are compressed, the layers with uncompressed weights are listed
/// below it.
pub(super) fn section(weights: &Weights, layout: Layout) -> Option<Section> {
    let mut items = Vec::new();
    for (kind, of_kind) in weights {
        items.push(format!(
            "  {:<10}  {:<12} {:>9} {:>12} {:>5.1}  {}",
            kind.element_type.to_string(),
            kind.grouping.to_string(),
            quantity::count(of_kind.count as u64),
            quantity::bytes(of_kind.bytes as u64),
            of_kind.bits(),
            of_kind.layers.len()
        ));
    }
    if weights.len() > 1 {
        items.push(format!("  {:.2} bits per weight in total", total_bits(weights)));
    }
    if weights.keys().any(|kind| kind.grouping != Grouping::None) {
        let plain = weights.iter().filter(|(kind, _)| kind.grouping == Grouping::None);
        items.extend(plain.flat_map(|(_, of_kind)| &of_kind.layers).map(|layer| {
            let layer = Escaped(layer).to_string();
            layout.shorten(format!("  not compressed: {layer}"), &layer)
        }));
    }
    let title = "weights       scale            count         size  bits  layers";
    (!weights.is_empty()).then(|| Section::new(title, items))
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
        /// Their storage type and scale.
        #[serde(flatten)]
        kind: &'w WeightKind,
        /// Their layers, number and bytes.
        #[serde(flatten)]
        of_kind: &'w WeightsOf,
        /// Bits per weight.
        bits: f64,
    }
    // Formatting rounds half to even: 4.0625 becomes 4.062.
    let bits = |of_kind: &WeightsOf| format!("{:.3}", of_kind.bits()).parse().unwrap_or_default();
    let rows = weights.iter().map(|(kind, of_kind)| WeightsOfKind { kind, of_kind, bits: bits(of_kind) });
    serializer.collect_seq(rows)
}
