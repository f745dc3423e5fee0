//! Variables: the state that outlives a run.

use std::collections::BTreeMap;

use snick_ir::ops::state::assign::Assign;
use snick_ir::ops::state::read_value::ReadValue;
use snick_ir::{NodeRef, OpError};
use snick_shape::Symbols;
use snick_tensor::{ElementType, Tensor};

/// The variables of a model between runs; new ones have no values.
///
/// ```
/// use snick_run::Variables;
/// use snick_tensor::Tensor;
///
/// let mut variables = Variables::default();
/// variables.set("cache", Tensor::from_slice(&[1f32, 2.], &[2])?);
/// assert_eq!(variables.get("cache").map(Tensor::dims), Some(&[2][..]));
/// # Ok::<(), snick_tensor::TensorError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Variables {
    values: BTreeMap<String, Tensor>,
    /// Assigned in the current run, which still reads `values`.
    assigned: BTreeMap<String, Tensor>,
}

impl Variables {
    /// The value of a variable, if one was assigned.
    pub fn get(&self, variable_id: &str) -> Option<&Tensor> {
        self.values.get(variable_id)
    }

    /// Assigns a value, as an earlier run would have.
    pub fn set(&mut self, variable_id: impl Into<String>, value: Tensor) {
        self.values.insert(variable_id.into(), value);
    }

    /// The assigned value; else the input; else zeros of the smallest shape that the variable may have.
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

    /// Assigns the input for the next run, and returns it.
    pub(crate) fn assign(&mut self, op: &Assign, inputs: &[Tensor]) -> Vec<Tensor> {
        if let Some(value) = inputs.first() {
            // A view would keep its whole storage.
            self.assigned.insert(op.variable_id.clone(), value.contiguous());
        }
        inputs.to_vec()
    }

    /// Ends a run: the values it assigned are kept or discarded.
    pub(crate) fn finish(&mut self, keep: bool) {
        let assigned = std::mem::take(&mut self.assigned);
        if keep {
            self.values.extend(assigned);
        }
    }
}
