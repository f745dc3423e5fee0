//! Operations that combine the elements along axes.

use snick_certificate::Node;

use super::arithmetic::label;
use super::interpreter::{Tensor, axis, int, is_set};

/// Whether the factors of a product fit.
pub fn fit(node: &Node, operands: &[&Tensor]) -> bool {
    row(node, operands, &[0, 0]).len() == column(node, operands, &[0, 0]).len()
}

/// A hash of the combined elements, in order.
pub fn combined(node: &Node, operands: &[&Tensor], index: &[i64]) -> Option<i64> {
    let data = operands[0];
    let attributes = format!("{:?}", node.attributes);
    let all: Vec<Option<i64>> = match node.op.as_str() {
        "MatMul" => row(node, operands, index).into_iter().chain(column(node, operands, index)).collect(),
        "Softmax" => {
            let axis = axis(int(node, "axis").unwrap(), data.rank());
            [data.get(index)].into_iter().chain(along(data, axis, index)).collect()
        }
        _ => {
            let axis = axis(operands[1].at(0).unwrap(), data.rank());
            let mut index = index.to_vec();
            if !is_set(node, "keep_dims") {
                index.insert(axis, 0);
            }
            along(data, axis, &index).collect()
        }
    };
    Some(label(&(&node.op, attributes, all.into_iter().collect::<Option<Vec<i64>>>()?)))
}

/// The elements that differ from an index on one axis.
fn along(data: &Tensor, axis: usize, index: &[i64]) -> impl Iterator<Item = Option<i64>> {
    (0..data.dims[axis]).map(move |at| {
        let mut index = index.to_vec();
        index[axis] = at;
        data.get(&index)
    })
}

fn row(node: &Node, operands: &[&Tensor], index: &[i64]) -> Vec<Option<i64>> {
    let axis = if is_set(node, "transpose_a") { 0 } else { 1 };
    along(operands[0], axis, &[index[0]; 2]).collect()
}

fn column(node: &Node, operands: &[&Tensor], index: &[i64]) -> Vec<Option<i64>> {
    let axis = if is_set(node, "transpose_b") { 1 } else { 0 };
    along(operands[1], axis, &[index[1]; 2]).collect()
}
