//! Passes that make the execution of a plan faster. Outputs change at most by rounding.

mod compute_slice_numbers;
mod constant_values;
mod fold;
mod fuse_elementwise;
mod fuse_int8;
mod keep_packed;

use snick_ir::Graph;

use crate::half_precision::HalfPrecision;
use crate::plan::Plan;

/// Folds all values that are the same in every run, except large low-bit weights, and fuses steps.
pub(crate) fn optimize(plan: &mut Plan, graph: &Graph, half_precision: &HalfPrecision) {
    // Products of quantised values with low-bit weights are faster on codes than with packed weights.
    fuse_int8::fuse_int8(plan, graph, half_precision);
    keep_packed::keep_packed(plan, graph, half_precision);
    fold::fold(plan, graph, half_precision);
    compute_slice_numbers::compute_slice_numbers(plan, graph);
    fuse_elementwise::fuse_elementwise(plan, graph);
    plan.mark_last_uses();
    plan.prune_outputs(graph);
}
