//! Loops and branches.

use snick_tensor::ElementType;

use super::code::{Part, list, parts};
use super::lowering::{Lowering, Result};
use super::types::{Num, TensorType, Value, malformed};
use crate::stablehlo::hlo::{Op, ValueId};
use crate::stablehlo::print::Quoted;

/// How a value is passed between blocks. Numbers and conditions stay scalars, so that they can be used
/// without reading a tensor.
enum Form {
    Number,
    Flag,
    Tensor(TensorType),
}

impl Form {
    fn of(l: &Lowering, id: ValueId) -> Self {
        let ty = l.type_of(id);
        match ty.element {
            ElementType::I64 if ty.dims.is_empty() => Self::Number,
            ElementType::Boolean if ty.dims.is_empty() => Self::Flag,
            _ => Self::Tensor(ty),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number => "index".to_string(),
            Self::Flag => "i1".to_string(),
            Self::Tensor(ty) => ty.to_string(),
        }
    }
}

/// The forms of values, and their types.
fn forms(l: &Lowering, ids: &[ValueId]) -> (Vec<Form>, String) {
    let forms: Vec<Form> = ids.iter().map(|&id| Form::of(l, id)).collect();
    let types = list(forms.iter().map(Form::text));
    (forms, types)
}

/// A value in a form.
fn pass(l: &mut Lowering, id: ValueId, form: &Form) -> Result<Value> {
    Ok(match form {
        Form::Number => {
            let number = l.read_numbers(id)?.first().copied().ok_or_else(|| malformed("a number"))?;
            l.code.index(number)
        }
        Form::Flag => l.flag(id)?,
        Form::Tensor(ty) => {
            let tensor = l.tensor(id)?;
            l.cast(&tensor, ty).value
        }
    })
}

fn pass_all(l: &mut Lowering, ids: &[ValueId], forms: &[Form]) -> Result<Vec<Value>> {
    ids.iter().zip(forms).map(|(&id, form)| pass(l, id, form)).collect()
}

/// Binds a value to its form.
fn bind(l: &mut Lowering, id: ValueId, form: &Form, value: Value) {
    match form {
        Form::Number => l.numbers.insert(id, vec![Num::Value(value)]),
        Form::Flag => l.flags.insert(id, value),
        Form::Tensor(ty) => {
            let tensor = l.code.tensor(value, ty.clone());
            l.tensors.insert(id, tensor);
        }
    }
}

fn bind_all(l: &mut Lowering, ids: &[ValueId], forms: &[Form]) -> Vec<Value> {
    let bound = ids.iter().zip(forms).map(|(&id, form)| {
        let value = l.code.value(l.name(id));
        bind(l, id, form, value);
        value
    });
    bound.collect()
}

/// A loop.
pub(super) fn repeat(l: &mut Lowering, op: &Op) -> Result {
    let [condition, body] = op.regions.as_slice() else { return Err(malformed("a loop")) };
    let (forms, types) = forms(l, &condition.arguments);
    let start = pass_all(l, &op.operands, &forms)?;
    let outside = l.open();
    let arguments = bind_all(l, &condition.arguments, &forms);
    l.region(condition)?;
    let goes_on = l.flag(*condition.results.first().ok_or_else(|| malformed("a loop"))?)?;
    l.code.push(vec![], parts!["scf.condition(", goes_on, ") ", &arguments, " : ", types.as_str()]);
    let before = l.close(outside, vec![]);
    let outside = l.open();
    let own = bind_all(l, &body.arguments, &forms);
    l.region(body)?;
    let next = pass_all(l, &body.results, &forms)?;
    l.code.push(vec![], parts!["scf.yield ", &next, " : ", types.as_str()]);
    let declared = own.into_iter().zip(forms.iter().map(Form::text)).collect();
    let after = l.close(outside, declared);
    let mut text: Vec<Part> = parts!["scf.while ("];
    for (i, (argument, start)) in arguments.into_iter().zip(start).enumerate() {
        text.extend(parts![if i > 0 { ", " } else { "" }, argument, " = ", start]);
    }
    text.extend(parts![format!(") : ({types}) -> ({types}) "), before, " do ", after]);
    finish(l, &op.results, &forms, text);
    Ok(())
}

/// A choice between two blocks.
pub(super) fn branch(l: &mut Lowering, op: &Op) -> Result {
    let condition = l.flag(*op.operands.first().ok_or_else(|| malformed("a branch"))?)?;
    let (forms, types) = forms(l, &op.results);
    let mut blocks = Vec::with_capacity(2);
    for region in &op.regions {
        let outside = l.open();
        l.region(region)?;
        let results = pass_all(l, &region.results, &forms)?;
        let text = if results.is_empty() {
            parts!["scf.yield"]
        } else {
            parts!["scf.yield ", &results, " : ", types.as_str()]
        };
        l.code.push(vec![], text);
        blocks.push(l.close(outside, vec![]));
    }
    let [yes, no] = <[_; 2]>::try_from(blocks).map_err(|_| malformed("a branch"))?;
    let text = parts!["scf.if ", condition, format!(" -> ({types}) "), yes, " else ", no];
    finish(l, &op.results, &forms, text);
    Ok(())
}

/// Pushes an operation with results, and binds them after it.
fn finish(l: &mut Lowering, ids: &[ValueId], forms: &[Form], text: Vec<Part>) {
    let values: Vec<Value> = ids.iter().map(|&id| l.code.value(l.name(id))).collect();
    l.code.push(values.clone(), text);
    for ((&id, form), value) in ids.iter().zip(forms).zip(values) {
        bind(l, id, form, value);
    }
}

/// Stops the program with a message unless the operand is true.
pub(super) fn assert(l: &mut Lowering, op: &Op, message: &str) -> Result {
    let flag = l.flag(*op.operands.first().ok_or_else(|| malformed("an assertion"))?)?;
    l.code.push(vec![], parts!["cf.assert ", flag, format!(", {}", Quoted(message))]);
    Ok(())
}
