//! Decompositions replace a layer with simpler ops if a target has no operator for it.
//!
//! Each rule replaces one layer with ops that every target has, or that are decomposed in turn. The rules are
//! checked like all other rules. A rule computes half floats in f32 if rounding intermediate results would
//! lose precision. Sizes that inference knows become constants.

mod activations;
mod adaptive_pool;
mod arithmetic;
mod attention;
pub(crate) mod bitwise;
mod blocks;
mod broadcast;
mod conversions;
mod earlier_definition;
mod embedding;
mod fake_convert;
mod float_functions;
mod grid_sample;
mod helpers;
mod identity;
mod interpolate;
mod normalization;
mod one_hot;
mod pad;
mod pool;
mod quantize;
mod reduction;
mod region_yolo;
mod scatter;
mod search;
mod split;
mod stft;
mod strided_slice;
mod yuv;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_images;
#[cfg(test)]
mod tests_of_releases;

use snick_ir::rewrite::{CUSTOM_OPS, Rule};

pub(crate) use bitwise::RULE as LOGICAL;
pub(crate) use earlier_definition::RULE as DEFINITION;

/// Rewrites to older definitions of OpenVINO's operations, for targets that read these operations.
pub(crate) const DEFINITIONS: &[Rule] = &[
    earlier_definition::RULE,
    earlier_definition::INTERPOLATE,
    earlier_definition::PAD,
    earlier_definition::SCATTER_ELEMENTS,
    pool::RULE,
    split::RULE,
    strided_slice::RULE,
];

/// All decompositions. At most one matches a layer.
pub(crate) const RULES: &[Rule] = &[
    CUSTOM_OPS,
    activations::GELU,
    activations::HARD_SIGMOID,
    activations::PRELU,
    activations::SELU,
    activations::SWISH,
    activations::UNARY,
    adaptive_pool::RULE,
    arithmetic::CLAMP,
    arithmetic::EXTREME,
    arithmetic::FLOOR_DIVIDE,
    arithmetic::FLOOR_MOD,
    arithmetic::IS_FINITE,
    arithmetic::ROUND,
    arithmetic::SQUARED_DIFFERENCE,
    attention::RULE,
    bitwise::RULE,
    bitwise::NOT,
    blocks::BATCH_TO_SPACE,
    blocks::DEPTH_TO_SPACE,
    blocks::REORG_YOLO,
    blocks::SHUFFLE_CHANNELS,
    blocks::SPACE_TO_BATCH,
    blocks::SPACE_TO_DEPTH,
    broadcast::RULE,
    conversions::LIKE,
    conversions::PROMOTE,
    embedding::RULE,
    fake_convert::RULE,
    float_functions::RULE,
    grid_sample::RULE,
    identity::RULE,
    interpolate::RULE,
    normalization::BATCH_NORM,
    normalization::GRN,
    normalization::GROUP_NORMALIZATION,
    normalization::LRN,
    normalization::MVN,
    normalization::NORMALIZE_L2,
    normalization::SOFTMAX,
    one_hot::RULE,
    pad::RULE,
    quantize::RULE,
    reduction::RULE,
    region_yolo::RULE,
    scatter::ELEMENTS,
    scatter::ND,
    search::BUCKETIZE,
    search::SEARCH_SORTED,
    stft::RULE,
    yuv::RULE,
];
