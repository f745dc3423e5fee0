//! Compares nodes with the table of operators: versions, types, attributes and numbers of inputs.

use std::collections::HashMap;

use snick_ir::onnx_opsets::{self, OperatorVersion};
use snick_onnx as onnx;
use snick_tensor::ElementType;

/// Why an operator set cannot express a node.
pub(super) struct NodeLack {
    pub(super) what: String,
    /// If it only lacks an element type, this type, and the types that the operator has at this place.
    pub(super) element_type: Option<(ElementType, Vec<ElementType>)>,
}

/// Whether an operator set has an element type.
pub(super) fn has_type(opset: i64, element_type: ElementType) -> bool {
    onnx_opsets::version("Cast", opset).is_some_and(|cast| cast.is_input_type(0, element_type))
}

/// The version of an operator that an operator set has.
pub(super) fn version(operator: &str, opset: i64) -> Option<&'static OperatorVersion> {
    onnx_opsets::version(operator, opset).filter(|version| !version.is_deprecated)
}

/// The nodes that were written, as far as later ones depend on them.
#[derive(Default)]
pub(super) struct CheckedNodes {
    /// The operator set to write for, if the user asked for one.
    pub(super) target: Option<i64>,
    /// The types of values.
    pub(super) types: HashMap<String, ElementType>,
    /// What the target lacks.
    pub(super) lack: Option<NodeLack>,
}

impl CheckedNodes {
    /// If the user asked for an operator set, records the types of the node's outputs, and why the set cannot
    /// express the node, if so.
    pub(super) fn compare(&mut self, node: &onnx::Node) {
        let Some(opset) = self.target.filter(|_| self.lack.is_none()) else { return };
        self.lack = match version(&node.op_type, opset) {
            Some(version) => {
                for (port, output) in node.output.iter().enumerate() {
                    if let Some(element_type) = self.output_type(node, version, port) {
                        self.types.entry(output.clone()).or_insert(element_type);
                    }
                }
                self.lack_of(node, version)
            }
            None => Some(NodeLack { what: node.op_type.clone(), element_type: None }),
        };
    }

    fn lack_of(&self, node: &onnx::Node, version: &OperatorVersion) -> Option<NodeLack> {
        let operator = &node.op_type;
        let other = |what| Some(NodeLack { what, element_type: None });
        let newer = || onnx_opsets::versions(operator).iter().filter(|newer| newer.since > version.since);
        let is_new = |name: &str| newer().any(|newer| newer.added.contains(&name));
        if let Some(attribute) = node.attribute.iter().find(|attribute| is_new(&attribute.name)) {
            return other(format!("{} of {operator}", attribute.name));
        }
        if version.max_inputs().is_some_and(|most| node.input.len() > most) {
            return other(format!("{} inputs of {operator}", node.input.len()));
        }
        let lack = |name: &str, is_type: &dyn Fn(ElementType) -> bool| {
            let element_type = *self.types.get(name)?;
            let others = || ElementType::ALL.into_iter().filter(|&other| is_type(other)).collect();
            let what = || format!("{operator} of {element_type}");
            (!is_type(element_type))
                .then(|| NodeLack { what: what(), element_type: Some((element_type, others())) })
        };
        let mut inputs = node.input.iter().enumerate();
        let mut outputs = node.output.iter().enumerate();
        inputs
            .find_map(|(port, name)| lack(name, &|element_type| version.is_input_type(port, element_type)))
            .or_else(|| {
                outputs.find_map(|(port, name)| {
                    lack(name, &|element_type| version.is_output_type(port, element_type))
                })
            })
    }

    /// The element type of an output, if it is known: an attribute names it, the operator has no other, or an input
    /// has the same.
    fn output_type(&self, node: &onnx::Node, version: &OperatorVersion, port: usize) -> Option<ElementType> {
        let named = node.attribute.iter().find(|attribute| matches!(&*attribute.name, "to" | "dtype"));
        let input = match &*node.op_type {
            "If" | "Loop" => return None,
            "ConstantOfShape" => return Some(ElementType::F32),
            "DequantizeLinear" | "Where" => 1,
            "OneHot" | "QuantizeLinear" => 2,
            _ => 0,
        };
        match named {
            Some(attribute) => onnx::from_number(attribute.i?.try_into().ok()?),
            None => {
                version.only_output_type(port).or_else(|| self.types.get(node.input.get(input)?).copied())
            }
        }
    }
}
