//! The table of operators: a row each, with the operator sets that changed it, in files by family.

mod attention;
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
mod resample;
mod resize;
mod selection;
mod shape;
mod signal;
mod slice;
mod vision;
mod window;

use std::collections::HashMap;
use std::sync::LazyLock;

use snick_ir::{OpError, Value};

use super::builder::{Builder, Built};

/// One operator.
pub(super) struct Row {
    /// Its name.
    name: &'static str,
    /// The operator sets that define it, ascending: a node of operator set N means the last of them not above N.
    since: &'static [i64],
    form: Form,
}

/// What its node becomes.
enum Form {
    /// The IR op of this type, with the same inputs and no attributes.
    Same(&'static str),
    /// Nodes that give one output.
    One(fn(&mut Builder) -> Built),
    /// Nodes that give several.
    Many(fn(&mut Builder) -> Result<Vec<Value>, OpError>),
}

const fn same(name: &'static str, since: &'static [i64], op_type: &'static str) -> Row {
    Row { name, since, form: Form::Same(op_type) }
}

const fn one(name: &'static str, since: &'static [i64], build: fn(&mut Builder) -> Built) -> Row {
    Row { name, since, form: Form::One(build) }
}

const fn many(
    name: &'static str,
    since: &'static [i64],
    build: fn(&mut Builder) -> Result<Vec<Value>, OpError>,
) -> Row {
    Row { name, since, form: Form::Many(build) }
}

/// Attributes that change nothing where rows do not ask for them: what concerns training, what follows from the
/// inputs, precision inside, and values for cases that are not the node's.
const WITHOUT_EFFECT: &[&str] = &[
    "axis",
    "beta",
    "consumed_inputs",
    "extrapolation_value",
    "is_test",
    "kernel_shape",
    "momentum",
    "nearest_mode",
    "pads",
    "precision",
    "ratio",
    "round_mode",
    "saturate",
    "seed",
    "stash_type",
    "storage_order",
    "value",
];

/// Rows by domain and name.
static TABLE: LazyLock<HashMap<(&'static str, &'static str), &'static Row>> = LazyLock::new(|| {
    let standard = [
        attention::ROWS,
        constant::ROWS,
        elementwise::ROWS,
        grid_sample::ROWS,
        linear::ROWS,
        linear_attention::ROWS,
        loss::ROWS,
        movement::ROWS,
        normalization::ROWS,
        parametric::ROWS,
        quantize::ROWS,
        random::ROWS,
        recurrent::ROWS,
        reduction::ROWS,
        resize::ROWS,
        selection::ROWS,
        shape::ROWS,
        signal::ROWS,
        slice::ROWS,
        vision::ROWS,
        window::ROWS,
    ];
    let standard = standard.into_iter().flatten().map(|row| (("", row.name), row));
    let microsoft = microsoft::FAMILIES.iter().copied().flatten();
    let microsoft = microsoft.map(|row| ((microsoft::DOMAIN, row.name), row));
    standard.chain(microsoft).collect()
});

/// An operator that the reader knows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Operator {
    /// Whose it is; empty for those of ONNX itself.
    pub domain: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The operator sets that define it, as far as they are told apart.
    pub since: &'static [i64],
}

/// All operators that the reader knows, by domain and name.
pub fn operators() -> Vec<Operator> {
    let row = |(&(domain, name), row): (&(&'static str, &'static str), &&'static Row)| Operator {
        domain,
        name,
        since: row.since,
    };
    let mut operators: Vec<Operator> = TABLE.iter().map(row).collect();
    operators.sort();
    operators
}

/// The row of an operator and the operator set that defines it for a node of `opset`.
pub(super) fn find(domain: &str, op_type: &str, opset: i64) -> Option<(&'static Row, i64)> {
    let row = *TABLE.get(&(domain, op_type))?;
    let since = row.since.iter().rev().find(|&&since| since <= opset)?;
    Some((row, *since))
}

impl Row {
    /// Builds what a node becomes; gives its outputs. An attribute that the row does not know would change the
    /// meaning unseen, so it is refused.
    pub(super) fn build(&self, b: &mut Builder) -> Result<Vec<Value>, OpError> {
        let outputs = match self.form {
            Form::Same(op_type) => {
                let inputs = b.all()?;
                b.outputs_below(1)?;
                vec![b.plain(op_type, &inputs)?]
            }
            Form::One(build) => {
                b.outputs_below(1)?;
                vec![build(b)?]
            }
            Form::Many(build) => build(b)?,
        };
        match b.attrs.unread().iter().find(|(name, _)| !WITHOUT_EFFECT.contains(name)) {
            Some((name, _)) => Err(OpError::unsupported(format!("attribute `{name}`"))),
            None => Ok(outputs),
        }
    }
}
