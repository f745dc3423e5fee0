//! The `slice` primitive: what every slice-like op becomes.
//!
//! Element k of a sliced axis is element `start + k * step` of the input; axes not listed are whole. No masks,
//! negatives or clamping are left in it, so two static slices select the same elements if and only if they are equal.

use smallvec::{SmallVec, smallvec};
use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::attrs::missing;
use crate::{
    Arity, AttrValue, Attrs, EvalOp, Fact, Facts, Infer, InferOp, Op, OpDef, OpError, OpName, OpTraits,
    RawNode,
};

/// A number of a slice: written in it, or read from an operand, a scalar integer input.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// The number.
    Static(i64),
    /// An operand; it lies in this interval whenever the graph runs.
    Operand(Interval),
}

/// One sliced axis.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Axis {
    /// Which axis.
    pub axis: usize,
    /// Index of the first element.
    pub start: Part,
    /// Number of elements.
    pub len: Part,
    /// Distance from one element to the next; never 0.
    pub step: Part,
}

/// Slices of one tensor along some axes. Inputs: the data, then the operands in order of axes, of one axis `start`,
/// `len`, `step`.
///
/// Axes ascend and none is known to be whole. Static parts are normal: `len <= 1` has step 1, `len = 0` start 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// The sliced axes, ascending.
    pub axes: SmallVec<[Axis; 2]>,
}

impl Axis {
    fn parts(&self) -> [Part; 3] {
        [self.start, self.len, self.step]
    }

    /// The slice, if all of it is static.
    pub fn as_static(&self) -> Option<AxisSlice> {
        match self.parts() {
            [Part::Static(start), Part::Static(len), Part::Static(step)] => {
                Some(AxisSlice { start, len, step })
            }
            _ => None,
        }
    }
}

impl From<(usize, AxisSlice)> for Axis {
    fn from((axis, slice): (usize, AxisSlice)) -> Self {
        let (start, len, step) =
            (Part::Static(slice.start), Part::Static(slice.len), Part::Static(slice.step));
        Self { axis, start, len, step }
    }
}

impl Slice {
    /// A static slice.
    pub fn fixed(axes: impl IntoIterator<Item = (usize, AxisSlice)>) -> Self {
        Self { axes: axes.into_iter().map(Axis::from).collect() }
    }

    fn operands(&self) -> usize {
        self.axes.iter().flat_map(Axis::parts).filter(|p| matches!(p, Part::Operand(_))).count()
    }

    fn check_operands(&self, inputs: usize) -> Result<(), OpError> {
        Arity::exactly(1 + self.operands()).check(inputs)
    }
}

impl From<Slice> for Op {
    fn from(slice: Slice) -> Self {
        Self::Slice(Box::new(slice))
    }
}

impl OpDef for Slice {
    const NAMES: &'static [OpName] = &[OpName::snick("slice")];
    const ARITY: Arity = Arity::at_least(1);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let axes = raw.attrs.sizes("axes")?.ok_or(missing("axes"))?;
        let parts = |name: &'static str| -> Result<Vec<Part>, OpError> {
            let parts: Option<Vec<Part>> = match raw.attrs.get(name) {
                Some(AttrValue::Ints(values)) => Some(values.iter().map(|&v| Part::Static(v)).collect()),
                Some(AttrValue::Texts(texts)) => texts.iter().map(|text| parse_part(text)).collect(),
                Some(_) => None,
                None => return Err(missing(name)),
            };
            parts
                .filter(|p| p.len() == axes.len())
                .ok_or_else(|| raw.attrs.bad(name, "a number or `in ..` an axis"))
        };
        let (starts, lens, steps) = (parts("start")?, parts("len")?, parts("step")?);
        let mut op = Self { axes: SmallVec::new() };
        for (i, &axis) in axes.iter().enumerate() {
            let next = Axis { axis, start: starts[i], len: lens[i], step: steps[i] };
            let ascends = op.axes.last().is_none_or(|last| last.axis < axis);
            let normal = match (next.start, next.len, next.step) {
                (_, _, Part::Static(0)) => false,
                (Part::Static(start), _, _) if start < 0 => false,
                (start, Part::Static(0), step) => start == Part::Static(0) && step == Part::Static(1),
                (_, Part::Static(1), step) => step == Part::Static(1),
                (_, Part::Static(len), _) => len >= 0,
                _ => true,
            };
            if !ascends || !normal {
                return Err(raw.attrs.bad("axes", "ascending axes, each with a slice in normal form"));
            }
            op.axes.push(next);
        }
        Ok(op)
    }

    fn attrs(&self) -> Attrs<'static> {
        let axes: SmallVec<[i64; 4]> = self.axes.iter().map(|a| a.axis as i64).collect();
        let mut attrs = Attrs::new();
        attrs.push("axes".into(), AttrValue::Ints(axes));
        for (name, i) in [("start", 0), ("len", 1), ("step", 2)] {
            let parts = self.axes.iter().map(|a| a.parts()[i]);
            let numbers: Option<SmallVec<[i64; 4]>> = parts
                .clone()
                .map(|part| match part {
                    Part::Static(v) => Some(v),
                    Part::Operand(_) => None,
                })
                .collect();
            let value = match numbers {
                Some(numbers) => AttrValue::Ints(numbers),
                None => AttrValue::Texts(parts.map(print_part).collect()),
            };
            attrs.push(name.into(), value);
        }
        attrs
    }
}

impl InferOp for Slice {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.check_operands(cx.len())?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(cx.element_type(0), Shape::unranked())]);
        };
        let mut dims: Vec<SymExpr> = dims.to_vec();
        let mut operand = 1;
        for axis in &self.axes {
            let Some(dim) = dims.get(axis.axis).cloned() else {
                return Err(OpError::out_of_range(
                    "axis",
                    axis.axis as i64,
                    format!("below rank {}", dims.len()),
                ));
            };
            let mut parts = [SymExpr::from(0), SymExpr::from(0), SymExpr::from(0)];
            for ((k, part), expr) in axis.parts().iter().enumerate().zip(&mut parts) {
                *expr = match *part {
                    Part::Static(value) => SymExpr::from(value),
                    Part::Operand(interval) => {
                        operand += 1;
                        operand_value(cx, operand - 1, interval, k == 1)?
                    }
                };
            }
            if let Some(slice) = axis.as_static() {
                check_range(axis.axis, slice, cx.interval(&dim).hi())?;
            }
            let [_, len, _] = parts;
            dims[axis.axis] = cx.as_dim(&len).ok_or_else(|| OpError::out_of_range("len", -1, "0 or more"))?;
        }
        let fact = Fact::new(cx.element_type(0), Shape::ranked(dims));
        let elements = self.select_elements(cx.input(0));
        Ok(smallvec![fact.with_elements(elements)])
    }
}

impl EvalOp for Slice {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, operands @ ..] = inputs else { return Err(OpError::NotConnected { port: 0 }) };
        let operands: Result<SmallVec<[i64; 6]>, _> =
            operands.iter().map(|operand| operand.to_i64(0)).collect();
        Ok(vec![self.select(data, &operands?)?])
    }
}

impl Slice {
    /// The elements that it selects of concrete data, its operands being these: a view.
    ///
    /// # Errors
    /// If there are not as many operands, one lies outside its interval, or an index outside its axis.
    pub fn select(&self, data: &Tensor, operands: &[i64]) -> Result<Tensor, OpError> {
        self.check_operands(1 + operands.len())?;
        let mut view = data.clone();
        let mut operands = operands.iter();
        for axis in &self.axes {
            let mut numbers = [0i64; 3];
            for (part, number) in axis.parts().iter().zip(&mut numbers) {
                *number = match *part {
                    Part::Static(value) => value,
                    Part::Operand(interval) => {
                        let value = *operands.next().ok_or(OpError::NotConnected { port: 1 })?;
                        if !interval.contains(value) {
                            return Err(OpError::out_of_range("an operand", value, format!("{interval}")));
                        }
                        value
                    }
                };
            }
            let [start, len, step] = numbers;
            let Some(&dim) = view.dims().get(axis.axis) else {
                let expected = format!("below rank {}", view.rank());
                return Err(OpError::out_of_range("axis", axis.axis as i64, expected));
            };
            if len == 0 {
                view.narrow(axis.axis, 0, 0, 1)?;
                continue;
            }
            let slice = AxisSlice { start, len, step };
            check_range(axis.axis, slice, dim as i64)?;
            // In range, so all three fit.
            let (start, len) = (start as usize, len as usize);
            view.narrow(axis.axis, start, len, if len == 1 { 1 } else { step as isize })?;
        }
        Ok(view)
    }

    /// Known elements of a small integer tensor, those that the slice keeps.
    fn select_elements(&self, data: &Fact) -> Option<Vec<SymExpr>> {
        let slices: Option<Vec<_>> = self.axes.iter().map(|a| Some((a.axis, a.as_static()?))).collect();
        select_elements(data, &slices?)
    }
}

/// The known elements of `data` that static slices keep, row-major.
pub(super) fn select_elements(data: &Fact, slices: &[(usize, AxisSlice)]) -> Option<Vec<SymExpr>> {
    let elements = data.elements()?;
    let dims = data.shape.as_static()?;
    let places = Tensor::from_vec(&dims, (0..elements.len() as i64).collect()).ok()?;
    let kept = slices.iter().try_fold(places, |places, (axis, slice)| {
        let (start, len) = (usize::try_from(slice.start).ok()?, usize::try_from(slice.len).ok()?);
        places.slice(*axis, start, len, isize::try_from(slice.step).ok()?).ok()
    })?;
    let places = kept.to_i64_vec().ok()?;
    places.into_iter().map(|i| elements.get(usize::try_from(i).ok()?).cloned()).collect()
}

/// An operand's value: what is known of the input, within what the slice says of it. That a length lies in its interval
/// follows from sizes; a start outside its interval fails when the slice runs, of which nothing may follow for others.
fn operand_value(cx: &mut Infer, input: usize, interval: Interval, is_len: bool) -> Result<SymExpr, OpError> {
    cx.expect_integer(input);
    cx.expect_rank(input, "0", |rank| rank == 0)?;
    let known = cx.input(input).elements().and_then(|elements| elements.into_iter().next());
    if let (Some(exact), None) = (interval.is_exact(), known.as_ref().and_then(SymExpr::as_const)) {
        return Ok(SymExpr::from(exact));
    }
    let Some(known) = known else { return Ok(cx.unknown(interval)) };
    let range = cx.interval(&known);
    if interval.covers(&range) {
        return Ok(known);
    }
    let Some(both) = range.meet(interval) else {
        return Err(OpError::conflict(
            format!("operand {input} is {{}}, its interval {{}}"),
            range,
            interval,
        ));
    };
    if !is_len || known.as_symbol().is_some() {
        // A symbol stands for itself elsewhere too: what this slice says must not leak there.
        return Ok(cx.unknown(both));
    }
    cx.symbols().refine(&known, both);
    Ok(known)
}

/// Every index lies in an axis of at most `dim` elements.
fn check_range(axis: usize, slice: AxisSlice, dim: i64) -> Result<(), OpError> {
    if slice.len <= 0 {
        return Ok(());
    }
    let last = slice
        .len
        .checked_sub(1)
        .and_then(|n| n.checked_mul(slice.step))
        .and_then(|n| n.checked_add(slice.start));
    let fits = |index: i64| index >= 0 && index < dim;
    match last {
        Some(last) if fits(slice.start) && fits(last) => Ok(()),
        last => {
            let value = if fits(slice.start) { last.unwrap_or(i64::MAX) } else { slice.start };
            Err(OpError::out_of_range(
                format!("index on axis {axis}"),
                value,
                format!("0..{}", dim.max(1) - 1),
            ))
        }
    }
}

fn print_part(part: Part) -> String {
    match part {
        Part::Static(value) => value.to_string(),
        Part::Operand(interval) => format!("in {interval}"),
    }
}

fn parse_part(text: &str) -> Option<Part> {
    match text.strip_prefix("in ") {
        Some(interval) => {
            // In a shape -1 stands for any size; here it is a number.
            let exact = interval.parse().ok().map(Interval::exact);
            exact.or_else(|| interval.parse().ok()).map(Part::Operand)
        }
        None => text.parse().ok().map(Part::Static),
    }
}
