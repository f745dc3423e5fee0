//! Peak memory of a device. A value is freed after its last use. Operations that only rearrange or repeat
//! elements create views. An elementwise operation reuses the buffer of an operand that has the same size and
//! no other use. Results have buffers of their own from the start, and sums over devices are not in place.

use super::elementwise::is_elementwise;
use super::program::Program;
use super::propagate::Placement;
use super::transfers::local_bytes;

/// The peak bytes of live computed values, excluding arguments. `is_summed` says, for each operation, whether
/// devices sum its result.
pub(super) fn peak(placement: &Placement, is_used: &[bool], is_summed: &[bool]) -> u64 {
    let program = placement.program;
    let count = program.values.len();
    // The buffer of each value. For each buffer, its bytes and its remaining uses.
    let mut buffer_of: Vec<Option<usize>> = vec![None; count];
    let mut buffers: Vec<(u64, usize)> = Vec::new();
    let mut uses = vec![0_usize; count];
    let used =
        || program.operations.iter().zip(is_used).filter(|(_, used)| **used).map(|(operation, _)| operation);
    used().flat_map(|operation| &operation.operands).for_each(|&value| uses[value] += 1);
    program.results.iter().for_each(|&value| uses[value] += 1);
    let is_kept = kept(program);
    let results = program.results.iter();
    let results: u64 =
        results.map(|&value| local_bytes(program, value, &placement.spreads[value], placement.devices)).sum();
    let (mut alive, mut worst) = (results, results);
    let operations = program.operations.iter().enumerate();
    for (at, operation) in operations.filter(|(at, operation)| is_used[*at] && !operation.is_constant) {
        for &value in &operation.results {
            let bytes = local_bytes(program, value, &placement.spreads[value], placement.devices);
            let first = operation.operands.iter().copied().find(|&operand| !program.constant[operand]);
            let reused = match operation.op.as_str() {
                "reshape" | "broadcast_in_dim" | "slice" => first.map(|operand| buffer_of[operand]),
                op if is_elementwise(op) => {
                    let mut own = operation.operands.iter().filter_map(|&operand| buffer_of[operand]);
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
        for &operand in &operation.operands {
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

/// For each value, whether a result is this value or a view of it.
fn kept(program: &Program) -> Vec<bool> {
    let mut kept = vec![false; program.values.len()];
    program.results.iter().for_each(|&value| kept[value] = true);
    for operation in program.operations.iter().rev().filter(|operation| operation.op == "reshape") {
        if operation.results.iter().any(|&value| kept[value]) {
            operation.operands.iter().for_each(|&value| kept[value] = true);
        }
    }
    kept
}
