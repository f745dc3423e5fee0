//! A module with static sizes, indexed for partitioning.

use std::sync::Arc;

use super::PartitionError;
use crate::stablehlo::hlo::{Function, Op, OpKind, Region, ValueId};
use crate::stablehlo::module::Module;

/// The operations of a module with static sizes.
///
/// ```
/// # use snick_emit::stablehlo::{self, Program};
/// let text = r#"snick 1
/// graph "product" {
///   %x = Parameter-1 {element_type: f32, shape: "4,8"}
///   %w = Parameter-1 {element_type: f32, shape: "8,2"}
///   %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}
///   %y = Result-1(%p)
/// }
/// "#;
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let program = Program::of(&stablehlo::module(&graph, Default::default())?)?;
/// let rows = vec![vec![None, Some("model".to_string())], vec![Some("model".to_string()), None]];
/// let partition = program.partition(&"model=2".parse()?, &rows);
/// // Two devices all-reduce 4 x 2 numbers: each device sends half of them twice.
/// assert_eq!(partition.sent(), 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) function: Arc<Function>,
    /// For each value, its sizes; empty for values of inner regions.
    pub(super) dims: Vec<Vec<usize>>,
    /// For each value, the operations that read or produce it.
    pub(super) touching: Vec<Vec<usize>>,
    /// For each value, whether it is computed from constants only. Each use then computes the shard that it
    /// needs.
    pub(super) constant: Vec<bool>,
}

impl Program {
    /// Prepares a module for partitioning.
    ///
    /// # Errors
    /// A value has a dynamic size.
    pub fn of(module: &Module) -> Result<Self, PartitionError> {
        let function = Arc::clone(&module.function);
        let count = function.values.len();
        let (dims, touching) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut program = Self { function, dims, touching, constant: vec![false; count] };
        let body = &module.function.body;
        body.arguments.iter().try_for_each(|&value| program.size(value))?;
        for (at, op) in body.ops.iter().enumerate() {
            let is_constant = match &op.kind {
                OpKind::Constant(_) | OpKind::Iota(_) => true,
                kind => {
                    spreads_constants(kind)
                        && !op.operands.is_empty()
                        && op.operands.iter().all(|&value| program.constant[value])
                }
            };
            for &value in &op.results {
                program.size(value)?;
                program.constant[value] = is_constant;
            }
            for &value in op.operands.iter().chain(&op.results) {
                if program.touching[value].last() != Some(&at) {
                    program.touching[value].push(at);
                }
            }
        }
        Ok(program)
    }

    fn size(&mut self, value: ValueId) -> Result<(), PartitionError> {
        let dynamic = |_| PartitionError::Dynamic { value: self.name(value).into() };
        self.dims[value] = self.function.values[value].ty.fixed().map_err(dynamic)?;
        Ok(())
    }

    pub(super) fn body(&self) -> &Region {
        &self.function.body
    }

    pub(super) fn name(&self, value: ValueId) -> &str {
        &self.function.values[value].name
    }

    /// The size in bytes of `elements` elements with the element type of a value.
    pub(super) fn bytes_of(&self, value: ValueId, elements: usize) -> u64 {
        let bits = self.function.values[value].ty.element.bit_width().unwrap_or(8);
        (elements as u64).saturating_mul(bits.into()).div_ceil(8)
    }

    pub(super) fn is_constant(&self, op: &Op) -> bool {
        op.results.iter().all(|&value| self.constant[value])
    }
}

/// Whether an operation on constants is repeated for each use, so that each use can be sharded independently.
fn spreads_constants(kind: &OpKind) -> bool {
    let is_view =
        matches!(kind, OpKind::BroadcastInDim(_) | OpKind::Reshape | OpKind::Transpose(_) | OpKind::Slice(_));
    is_view || kind.is_elementwise()
}
