//! Variables: what outlives a run.

use std::collections::BTreeMap;

use snick_ir::ops::state::assign::Assign;
use snick_ir::ops::state::read_value::ReadValue;
use snick_ir::{Node, OpError};
use snick_shape::Symbols;
use snick_tensor::{ElementType, Tensor};

/// The variables of a model between runs. New ones are as before a first run.
#[derive(Clone, Default, Debug)]
pub struct Variables {
    held: BTreeMap<String, Tensor>,
    /// Assigned in the run under way, which still reads what was held before it.
    assigned: BTreeMap<String, Tensor>,
}

impl Variables {
    /// What a variable holds, if it was assigned.
    pub fn get(&self, variable_id: &str) -> Option<&Tensor> {
        self.held.get(variable_id)
    }

    /// Gives a variable a value, as a run before would have.
    pub fn set(&mut self, variable_id: impl Into<String>, value: Tensor) {
        self.held.insert(variable_id.into(), value);
    }

    /// What is held; else the input; else zeros, of the smallest shape that the variable may have.
    pub(crate) fn read(
        &self,
        op: &ReadValue,
        node: &Node,
        symbols: &Symbols,
        inputs: &[Tensor],
    ) -> Result<Vec<Tensor>, OpError> {
        if let Some(held) = self.held.get(&op.variable_id) {
            return Ok(vec![held.clone()]);
        }
        if let Some(initial) = inputs.first() {
            return Ok(vec![initial.clone()]);
        }
        let fact = node.outs.first().map(|out| &out.fact);
        let dims =
            fact.and_then(|fact| fact.shape.dims().filter(|_| fact.element_type != ElementType::Dynamic));
        let (Some(fact), Some(dims)) = (fact, dims) else {
            let what = format!("variable `{}`", op.variable_id);
            return Err(OpError::NoValue { what, why: "nothing was assigned to it".into() });
        };
        let least = dims.iter().map(|dim| usize::try_from(symbols.interval(dim).lo()).unwrap_or(0));
        Ok(vec![Tensor::zeros(fact.element_type, &least.collect::<Vec<_>>())?])
    }

    /// Keeps the input for the next run, and passes it on.
    pub(crate) fn assign(&mut self, op: &Assign, inputs: &[Tensor]) -> Vec<Tensor> {
        if let Some(value) = inputs.first() {
            // A view would keep all that it is a part of.
            self.assigned.insert(op.variable_id.clone(), value.contiguous());
        }
        inputs.to_vec()
    }

    /// The run is over: what it assigned holds from now on, if it is to count.
    pub(crate) fn finish(&mut self, counts: bool) {
        let assigned = std::mem::take(&mut self.assigned);
        if counts {
            self.held.extend(assigned);
        }
    }
}
