//! Scatters that combine the updates with the data. Operator sets without reductions get a Loop over the updates.

use snick_ir::ops::ScatterElementsUpdate;
use snick_ir::ops::movement::scatter_reduction::ScatterReduction;
use snick_ir::{AttrWords, Fact, OpError};
use snick_shape::Shape;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, graph_attribute, int, text};

/// ONNX's name for the reduction of a scatter.
fn reduction(reduction: ScatterReduction) -> Result<&'static str> {
    match reduction {
        ScatterReduction::None => Ok("none"),
        ScatterReduction::Sum => Ok("add"),
        ScatterReduction::Prod => Ok("mul"),
        ScatterReduction::Max => Ok("max"),
        ScatterReduction::Min => Ok("min"),
        ScatterReduction::Sub | ScatterReduction::Mean => {
            Err(OpError::unsupported(format!("reduction `{}`", reduction.word())))
        }
    }
}

pub(super) fn scatter_elements(e: &mut Emitter, op: &ScatterElementsUpdate) -> Result {
    let reduction = reduction(op.reduction)?;
    if op.reduction != ScatterReduction::None && !op.use_init_val {
        return Err(OpError::unsupported("a reduction without the initial values"));
    }
    let axis = e.fixed_one(3, "the axis")?;
    let inputs = [e.input(0)?, e.indices(1)?, e.input(2)?];
    let along = vec![int("axis", axis)];
    if !is_combined(e, reduction) {
        // Updates at the same place along the axis differ in another index.
        let axis = snick_ir::normalize_axis(axis, e.rank(0)?)? as i64;
        return Loop { operators: ["GatherElements", "ScatterElements"], reduction, axis }
            .write(e, inputs, &along);
    }
    e.last("ScatterElements", &inputs, [along, vec![text("reduction", reduction)]].concat())
}

pub(super) fn scatter_nd(e: &mut Emitter, op: ScatterReduction) -> Result {
    let reduction = reduction(op)?;
    let mut inputs = [e.input(0)?, e.input_i64(1)?, e.input(2)?];
    if is_combined(e, reduction) {
        return e.last("ScatterND", &inputs, vec![text("reduction", reduction)]);
    }
    let rank = e.rank(1)?;
    if rank > 2 {
        let (places, values) = (e.dims(1)?, e.dims(2)?);
        let count: i64 = places[..rank - 1].iter().product();
        if count == 0 {
            return e.last("Identity", &inputs[..1], vec![]);
        }
        inputs[1] = e.reshaped(&inputs[1], &[count, places[rank - 1]])?;
        inputs[2] = e.reshaped(&inputs[2], &[&[count], &values[rank - 1..]].concat())?;
    } else if rank < 2 {
        for input in &mut inputs[1..] {
            *input = e.unsqueezed(input, &[0])?;
        }
    }
    Loop { operators: ["GatherND", "ScatterND"], reduction, axis: 0 }.write(e, inputs, &[])
}

/// Whether the operator set has the reduction.
fn is_combined(e: &Emitter, reduction: &str) -> bool {
    let since = match reduction {
        "none" => 11,
        "add" | "mul" => 16,
        _ => 18,
    };
    e.writer.opset() >= since
}

/// A Loop that combines the updates at one place along an axis with the data, one place after the other.
struct Loop {
    /// The operators that read and replace elements.
    operators: [&'static str; 2],
    reduction: &'static str,
    /// The axis of indices and updates.
    axis: i64,
}

impl Loop {
    /// `inputs` are data, indices and updates; `along` are attributes of both operators.
    fn write(&self, e: &mut Emitter, inputs: [String; 3], along: &[snick_onnx::Attribute]) -> Result {
        let [data, indices, updates] = inputs;
        let count = e.size(&indices, self.axis)?;
        let count = e.reshaped(&count, &[])?;
        let symbols = e.layer.graph.symbols();
        let around = e.writer.enter_branch("");
        let names = ["iteration", "condition", "state"].map(|name| e.fresh(name));
        let whole = Fact::new(e.element_type(0)?, e.fact(0)?.shape().clone());
        let facts = [(ElementType::I64, Shape::from([])), (ElementType::Boolean, Shape::from([]))];
        for (name, fact) in
            names.iter().zip(facts.map(|(ty, shape)| Fact::new(ty, shape)).iter().chain([&whole]))
        {
            e.writer.formal(name.clone(), fact, symbols)?;
        }
        let [iteration, condition, state] = names;
        let (first, one, axes) = (e.reshaped(&iteration, &[1])?, e.vector(&[1])?, e.vector(&[self.axis])?);
        let next = e.node("Add", &[&first, &one], vec![]);
        let [place, update] =
            [indices, updates].map(|value| e.node("Slice", &[&value, &first, &next, &axes], vec![]));
        let old = e.node(self.operators[0], &[&state, &place], along.to_vec());
        let new = self.combined(e, &old, &update)?;
        let scattered = e.node(self.operators[1], &[state, place, new], along.to_vec());
        let goes_on = e.node("Identity", &[condition], vec![]);
        e.writer.output(goes_on, &Fact::new(ElementType::Boolean, [].into()), symbols)?;
        e.writer.output(scattered, &whole, symbols)?;
        let body = e.writer.leave_branch(around);
        e.last("Loop", &[count, String::new(), data], vec![graph_attribute("body", body)])
    }

    fn combined(&self, e: &mut Emitter, old: &str, update: &str) -> Result<String> {
        let own = e.element_type(0)?;
        let operator = match self.reduction {
            "add" => "Add",
            "mul" => "Mul",
            "max" => "Max",
            _ => "Min",
        };
        if own.is_float() || matches!(self.reduction, "add" | "mul") {
            return Ok(e.node(operator, &[old, update], vec![]));
        }
        // ONNX Runtime compares few types of integers.
        let wide = if own == ElementType::U64 { own } else { ElementType::I64 };
        let (old, update) = (e.cast(old.into(), own, wide)?, e.cast(update.into(), own, wide)?);
        let extreme = if operator == "Max" { e.larger(&old, &update) } else { e.smaller(&old, &update) };
        e.cast(extreme, wide, own)
    }
}
