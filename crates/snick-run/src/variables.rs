//! Variables: the state of a model that persists between runs.

use std::collections::BTreeMap;

use snick_ir::ops::state::assign::Assign;
use snick_ir::ops::state::read_value::ReadValue;
use snick_ir::{Graph, NodeRef, Op, OpError};
use snick_shape::{Interval, Symbols};
use snick_tensor::{ElementType, Tensor};

/// The variables of a model between runs. Initially, no variable has a value.
///
/// ```
/// use snick_run::Variables;
/// use snick::Tensor;
///
/// let mut variables = Variables::default();
/// variables.set("cache", Tensor::from_slice(&[1f32, 2.], &[2])?);
/// assert_eq!(variables.get("cache").map(Tensor::dims), Some(&[2][..]));
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Variables {
    values: BTreeMap<String, Tensor>,
    /// Values that the current run has assigned. They replace `values` when the run ends; until then,
    /// ReadValue still reads `values`.
    assigned: BTreeMap<String, Tensor>,
}

impl Variables {
    /// The value of a variable, if one was assigned.
    pub fn get(&self, variable_id: &str) -> Option<&Tensor> {
        self.values.get(variable_id)
    }

    /// Sets the value of a variable, as if an earlier run had assigned it.
    pub fn set(&mut self, variable_id: impl Into<String>, value: Tensor) {
        self.values.insert(variable_id.into(), value);
    }

    /// The variables that have values, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.values.iter().map(|(variable_id, value)| (variable_id.as_str(), value))
    }

    /// Like [`Variables::set`], but checks the value against an inferred graph.
    ///
    /// # Errors
    /// [`OpError::Mismatch`] if the graph has no such variable, or if the value does not fit the variable.
    pub fn set_checked(&mut self, graph: &Graph, variable_id: &str, value: Tensor) -> Result<(), OpError> {
        let mut known = BTreeMap::new();
        declared(graph, &mut known);
        let Some(reads) = known.get(variable_id) else {
            let all: Vec<&str> = known.keys().map(String::as_str).collect();
            let expected = if all.is_empty() { "none".into() } else { format!("one of {}", all.join(", ")) };
            return Err(OpError::mismatch("the variable", format!("`{variable_id}`"), expected));
        };
        if let Some(read) = reads.iter().find(|read| !read.takes(&value)) {
            let got = format!("{}{:?}", value.element_type(), value.dims());
            return Err(OpError::mismatch(format!("variable `{variable_id}`"), got, read.text.clone()));
        }
        self.set(variable_id, value);
        Ok(())
    }

    /// The element type of a variable in an inferred graph. Returns `Dynamic` if the graph has no such
    /// variable, or if its type is not known.
    pub fn element_type(graph: &Graph, variable_id: &str) -> ElementType {
        let mut known = BTreeMap::new();
        declared(graph, &mut known);
        let first = known.get(variable_id).and_then(|reads| reads.first());
        first.map_or(ElementType::Dynamic, |read| read.element_type)
    }

    /// Evaluates a ReadValue. Returns the value that an earlier run assigned, otherwise the input of the
    /// ReadValue. Without either, returns zeros of the smallest shape that the output may have.
    pub(crate) fn read(
        &self,
        op: &ReadValue,
        node: NodeRef,
        symbols: &Symbols,
        inputs: &[Tensor],
    ) -> Result<Vec<Tensor>, OpError> {
        if let Some(value) = self.values.get(&op.variable_id) {
            return Ok(vec![value.clone()]);
        }
        if let Some(initial) = inputs.first() {
            return Ok(vec![initial.clone()]);
        }
        let fact = node.outs().first().map(|out| &out.fact);
        let dims =
            fact.and_then(|fact| fact.shape.dims().filter(|_| fact.element_type != ElementType::Dynamic));
        let (Some(fact), Some(dims)) = (fact, dims) else {
            let what = format!("variable `{}`", op.variable_id);
            return Err(OpError::NoValue { what, why: "nothing was assigned to it".into() });
        };
        let least = dims.iter().map(|dim| usize::try_from(symbols.interval(dim).lo()).unwrap_or(0));
        Ok(vec![Tensor::zeros(fact.element_type, &least.collect::<Vec<_>>())?])
    }

    /// Assigns the input to the variable for the next run, and returns it.
    pub(crate) fn assign(&mut self, op: &Assign, inputs: &[Tensor]) -> Vec<Tensor> {
        if let Some(value) = inputs.first() {
            // Makes views contiguous, because a view would keep its entire storage alive.
            self.assigned.insert(op.variable_id.clone(), value.contiguous());
        }
        inputs.to_vec()
    }

    /// Ends a run. If `keep` is set, the assigned values become the values of the variables; otherwise they
    /// are discarded.
    pub(crate) fn finish(&mut self, keep: bool) {
        let assigned = std::mem::take(&mut self.assigned);
        if keep {
            self.values.extend(assigned);
        }
    }
}

/// The type and shape that a ReadValue declares for its variable.
struct Declared {
    element_type: ElementType,
    dims: Option<Vec<Interval>>,
    /// The type and shape as text, for messages.
    text: String,
}

impl Declared {
    fn takes(&self, value: &Tensor) -> bool {
        let fits = |dims: &Vec<Interval>| {
            let contains =
                |(dim, &size): (&Interval, &usize)| i64::try_from(size).is_ok_and(|size| dim.contains(size));
            dims.len() == value.rank() && dims.iter().zip(value.dims()).all(contains)
        };
        [ElementType::Dynamic, value.element_type()].contains(&self.element_type)
            && self.dims.as_ref().is_none_or(fits)
    }
}

/// Collects the types and shapes that the ReadValues of a graph and its bodies declare, by variable id.
fn declared(graph: &Graph, known: &mut BTreeMap<String, Vec<Declared>>) {
    for id in graph.ids() {
        let node = graph.node(id);
        if let (Op::ReadValue(op), Some(out)) = (node.op(), node.outs().first()) {
            let (fact, symbols) = (&out.fact, graph.symbols());
            let dims = fact.shape.dims().map(|dims| dims.iter().map(|dim| symbols.interval(dim)).collect());
            let text = format!("{}{}", fact.element_type, fact.shape.display_intervals(symbols));
            let declared = Declared { element_type: fact.element_type, dims, text };
            known.entry(op.variable_id.clone()).or_default().push(declared);
        }
        node.op().bodies().for_each(|(_, body)| declared(body, known));
    }
}
