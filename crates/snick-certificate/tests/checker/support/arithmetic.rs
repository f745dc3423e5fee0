//! Functions of elements.

use std::hash::{DefaultHasher, Hash, Hasher};

use snick_certificate::Node;

use super::interpreter::{Tensor, is_set};

pub fn label(content: &impl Hash) -> i64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    // Small enough for arithmetic.
    (hasher.finish() % 1_000_003) as i64
}

pub fn arithmetic(node: &Node, numbers: &[i64]) -> Option<i64> {
    let truth = |is_true: bool| Some(i64::from(is_true));
    match (node.op.as_str(), numbers) {
        ("Identity" | "Convert", [a]) => Some(*a),
        ("Add", [a, b]) => a.checked_add(*b),
        ("Subtract", [a, b]) => a.checked_sub(*b),
        ("Multiply", [a, b]) => a.checked_mul(*b),
        ("Negative", [a]) => a.checked_neg(),
        ("Abs", [a]) => a.checked_abs(),
        ("ReLU", [a]) => Some(*a.max(&0)),
        ("Maximum", [a, b]) => Some(*a.max(b)),
        ("Minimum", [a, b]) => Some(*a.min(b)),
        // Certificates say nothing about a division by 0 that fails: here it has some value.
        ("Divide" | "Mod" | "FloorMod", [a, 0]) => Some(label(&(&node.op, a))),
        ("Divide", [a, b]) if is_set(node, "m_pythondiv") => {
            let quotient = a.checked_div(*b)?;
            Some(if a % b != 0 && (a < &0) != (b < &0) { quotient - 1 } else { quotient })
        }
        ("Divide", [a, b]) => a.checked_div(*b),
        ("Mod", [a, b]) => a.checked_rem(*b),
        ("FloorMod", [a, b]) => Some(((a.checked_rem(*b)?) + b) % b),
        ("Select", [condition, yes, no]) => Some(if *condition == 0 { *no } else { *yes }),
        ("LogicalNot", [a]) => truth(*a == 0),
        ("LogicalAnd", [a, b]) => truth(*a != 0 && *b != 0),
        ("Less", [a, b]) => truth(a < b),
        ("LessEqual", [a, b]) => truth(a <= b),
        ("Greater", [a, b]) => truth(a > b),
        ("GreaterEqual", [a, b]) => truth(a >= b),
        ("Equal", [a, b]) => truth(a == b),
        ("NotEqual", [a, b]) => truth(a != b),
        _ => panic!("{} is not known", node.op),
    }
}

pub fn broadcast(data: &Tensor, dims: &[i64], index: &[i64]) -> Option<i64> {
    let skipped = dims.len() - data.rank();
    let mut source = Vec::new();
    for (axis, dim) in data.dims.iter().enumerate() {
        if *dim != 1 && *dim != dims[skipped + axis] {
            return None;
        }
        source.push(if *dim == 1 { 0 } else { index[skipped + axis] });
    }
    data.get(&source)
}
