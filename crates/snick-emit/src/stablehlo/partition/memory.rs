//! Peak memory of a device, under these assumptions:
//!
//! - A value is freed after its last use.
//! - Reshapes, broadcasts and slices create views.
//! - An elementwise operation reuses the buffer of an operand that has the same size and no other use.
//! - The buffers of results exist from the start.
//! - An all-reduce needs a second buffer of the same size.

use super::program::Program;
use super::propagate::Placement;
use super::transfers::local_bytes;
use crate::stablehlo::hlo::OpKind;

/// The peak bytes of live computed values, excluding arguments. `is_summed` holds, for each operation,
/// whether its result is all-reduced.
pub(super) fn peak(placement: &Placement, is_used: &[bool], is_summed: &[bool]) -> u64 {
    let program = placement.program;
    let count = program.dims.len();
    // The buffer of each value, and the bytes and remaining uses of each buffer.
    let mut buffer_of: Vec<Option<usize>> = vec![None; count];
    let mut buffers: Vec<(u64, usize)> = Vec::new();
    let mut uses = vec![0_usize; count];
    let used = program.body().ops.iter().zip(is_used).filter(|(_, used)| **used);
    used.flat_map(|(op, _)| &op.operands).for_each(|&value| uses[value] += 1);
    program.body().results.iter().for_each(|&value| uses[value] += 1);
    let is_kept = kept(program);
    let results = program.body().results.iter();
    let results: u64 =
        results.map(|&value| local_bytes(program, value, &placement.spreads[value], placement.devices)).sum();
    let (mut alive, mut worst) = (results, results);
    let ops = program.body().ops.iter().enumerate();
    for (at, op) in ops.filter(|(at, op)| is_used[*at] && !program.is_constant(op)) {
        for &value in &op.results {
            let bytes = local_bytes(program, value, &placement.spreads[value], placement.devices);
            let first = op.operands.iter().copied().find(|&operand| !program.constant[operand]);
            let reused = match &op.kind {
                OpKind::Reshape | OpKind::BroadcastInDim(_) | OpKind::Slice(_) => {
                    first.map(|operand| buffer_of[operand])
                }
                kind if kind.is_elementwise() => {
                    let mut own = op.operands.iter().filter_map(|&operand| buffer_of[operand]);
                    own.find(|&buffer| buffers[buffer] == (bytes, 1)).map(Some)
                }
                _ => None,
            };
            let buffer = match reused {
                _ if is_kept[value] => None,
                Some(buffer) => buffer,
                None => {
                    alive += bytes;
                    buffers.push((bytes, 0));
                    Some(buffers.len() - 1)
                }
            };
            if is_summed[at] {
                worst = worst.max(alive + bytes);
            }
            buffer_of[value] = buffer;
            if let Some(buffer) = buffer {
                buffers[buffer].1 += uses[value];
            }
        }
        worst = worst.max(alive);
        for &operand in &op.operands {
            if let Some(buffer) = buffer_of[operand] {
                let (bytes, left) = &mut buffers[buffer];
                *left = left.saturating_sub(1);
                if *left == 0 {
                    alive = alive.saturating_sub(std::mem::take(bytes));
                }
            }
        }
    }
    worst
}

/// For each value, whether it or a reshape of it is a result.
fn kept(program: &Program) -> Vec<bool> {
    let mut kept = vec![false; program.dims.len()];
    program.body().results.iter().for_each(|&value| kept[value] = true);
    for op in program.body().ops.iter().rev().filter(|op| matches!(op.kind, OpKind::Reshape)) {
        if op.results.iter().any(|&value| kept[value]) {
            op.operands.iter().for_each(|&value| kept[value] = true);
        }
    }
    kept
}
