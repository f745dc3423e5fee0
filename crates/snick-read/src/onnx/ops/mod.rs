//! The table of operators, in one file per family. Each row lists the operator sets that define the operator.

mod attention;
mod cell;
mod constant;
mod elementwise;
mod exact;
mod grid_sample;
mod linear;
mod linear_attention;
mod loss;
mod lstm;
mod microsoft;
mod movement;
mod normalization;
mod parametric;
mod quantize;
mod random;
mod recurrent;
mod reduction;
mod resize;
mod selection;
mod shape;
mod signal;
mod slice;
mod vision;
mod window;

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::{Attrs, OpError, Value};

use super::builder::{NodeBuilder, Result};

/// A row of the table: an operator and the rule that converts it.
pub(super) struct ImportEntry {
    /// Its name.
    name: &'static str,
    /// The operator sets that define the operator, in ascending order. For a model, the last one that is not
    /// newer than the operator set of the model applies.
    since: &'static [i64],
    /// The attributes that the rule always reads, separated by spaces.
    attrs: &'static str,
    /// Attributes that have no effect: they are only used in training, or repeat information from the inputs.
    ignored: &'static str,
    form: ImportRule,
}

/// The rule that converts a node.
enum ImportRule {
    /// The node becomes the IR op of this type, with the same inputs and no attributes.
    Same(&'static str),
    /// The function adds layers that compute a single output.
    One(fn(&mut NodeBuilder) -> Result),
    /// The function adds layers that compute several outputs.
    Many(fn(&mut NodeBuilder) -> Result<Vec<Value>>),
}

const fn same(name: &'static str, since: &'static [i64], op_type: &'static str) -> ImportEntry {
    ImportEntry { name, since, attrs: "", ignored: "", form: ImportRule::Same(op_type) }
}

const fn one(
    name: &'static str,
    since: &'static [i64],
    build: fn(&mut NodeBuilder) -> Result,
) -> ImportEntry {
    ImportEntry { name, since, attrs: "", ignored: "", form: ImportRule::One(build) }
}

const fn many(
    name: &'static str,
    since: &'static [i64],
    build: fn(&mut NodeBuilder) -> Result<Vec<Value>>,
) -> ImportEntry {
    ImportEntry { name, since, attrs: "", ignored: "", form: ImportRule::Many(build) }
}

/// Rows by domain and name.
static TABLE: LazyLock<HashMap<(&'static str, &'static str), &'static ImportEntry>> = LazyLock::new(|| {
    let standard = [
        attention::ENTRIES,
        constant::ENTRIES,
        elementwise::ENTRIES,
        grid_sample::ENTRIES,
        linear::ENTRIES,
        linear_attention::ENTRIES,
        loss::ENTRIES,
        movement::ENTRIES,
        normalization::ENTRIES,
        parametric::ENTRIES,
        quantize::ENTRIES,
        random::ENTRIES,
        recurrent::ENTRIES,
        reduction::ENTRIES,
        resize::ENTRIES,
        selection::ENTRIES,
        shape::ENTRIES,
        signal::ENTRIES,
        slice::ENTRIES,
        vision::ENTRIES,
        window::ENTRIES,
    ];
    let standard = standard.into_iter().flatten().map(|row| (("", row.name), row));
    let microsoft = microsoft::FAMILIES.iter().copied().flatten();
    let microsoft = microsoft.map(|row| ((microsoft::DOMAIN, row.name), row));
    standard.chain(microsoft).collect()
});

/// An operator that the reader supports.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operator {
    /// Its domain; empty for ONNX itself.
    pub domain: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The operator sets that define the operator, as far as snick distinguishes them.
    pub since: &'static [i64],
}

/// All operators that the reader supports, by domain and name.
pub fn operators() -> Vec<Operator> {
    let row = |(&(domain, name), row): (&(&'static str, &'static str), &&'static ImportEntry)| Operator {
        domain,
        name,
        since: row.since,
    };
    let mut operators: Vec<Operator> = TABLE.iter().map(row).collect();
    operators.sort();
    operators
}

/// The row of an operator for a node of operator set `opset`, and the operator set that defines the operator
/// for this node.
pub(super) fn find(domain: &str, op_type: &str, opset: i64) -> Option<(&'static ImportEntry, i64)> {
    let row = *TABLE.get(&(domain, op_type))?;
    let since = row.since.iter().rev().find(|&&since| since <= opset)?;
    Some((row, *since))
}

impl ImportEntry {
    /// Sets the attributes that the rule always reads.
    const fn attrs(self, attrs: &'static str) -> Self {
        Self { attrs, ..self }
    }

    /// Sets the attributes that have no effect.
    const fn ignores(self, ignored: &'static str) -> Self {
        Self { ignored, ..self }
    }

    /// Builds the layers for a node and returns its outputs. Rejects an attribute that neither the row lists
    /// nor the rule reads, because it could change the meaning of the node.
    pub(super) fn build(&self, b: &mut NodeBuilder) -> Result<Vec<Value>> {
        let outputs = match self.form {
            ImportRule::Same(op_type) => {
                let inputs = b.all()?;
                b.outputs_below(1)?;
                vec![b.ir_op(op_type, Attrs::new(), &inputs)?]
            }
            ImportRule::One(build) => {
                b.outputs_below(1)?;
                vec![build(b)?]
            }
            ImportRule::Many(build) => build(b)?,
        };
        let unread = b.attrs.unread();
        let is_unread = |name: &str| unread.iter().any(|(other, _)| other == name);
        let lists = |names: &str, name: &str| names.split(' ').any(|listed| listed == name);
        let is_refused = |name: &str| match lists(self.attrs, name) {
            true => is_unread(name),
            false => !lists(self.ignored, name),
        };
        match b.attrs.iter().find(|(name, _)| is_refused(name)) {
            Some((name, _)) => Err(OpError::unsupported(format!("attribute `{name}`"))),
            None => Ok(outputs),
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{Graph, GraphBuilder};
    use snick_tensor::ElementType;

    use super::*;

    /// Shows that a new operator needs only a row like this one in the `ENTRIES` of its family.
    const SCALED: ImportEntry = one("Scaled", &[1], |b| {
        let (x, by) = (b.input(0)?, b.float_attr("by", 1.0)?);
        b.multiply(x, by)
    })
    .attrs("axis by")
    .ignores("seed");

    fn build(attrs: Attrs<'static>) -> Result<Vec<Value>> {
        let mut graph = Graph::new("g");
        let x = GraphBuilder::on(&mut graph).parameter("x", ElementType::F32, "4")?;
        let mut node = NodeBuilder::new(&mut graph, "scaled");
        (node.inputs, node.attrs) = (vec![Some(x)], attrs);
        SCALED.build(&mut node)
    }

    #[test]
    fn a_row_refuses_attributes_that_it_does_not_list_or_does_not_read() {
        assert!(build(Attrs::new().with("by", 2.0).with("seed", 1)).is_ok());
        for name in ["axis", "mode"] {
            let error = build(Attrs::new().with(name, 1)).unwrap_err();
            assert_eq!(error.to_string(), format!("attribute `{name}` is not supported"));
        }
    }
}
