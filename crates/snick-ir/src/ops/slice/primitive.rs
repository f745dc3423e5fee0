//! The `slice` primitive, to which all slice-like ops are lowered.
//!
//! Element k of a sliced axis is element `start + k * step` of the input; other axes are unchanged. The
//! primitive has no masks, negative indices or clamping, so two static slices select the same elements if and
//! only if they are equal.

use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{SmallVector, Tensor};

use IntOrValue::Int;

use super::dyn_axis_slice::{AxisSlices, DynAxisSlice};
use crate::attrs::missing;
use crate::{
    Arity, AttrSpec, AttrValue, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, IntOrValue, Op, OpDef,
    OpError, OpName, OpTraits, RawNode,
};

/// Slices a tensor on some axes. Inputs: the data, then the operands by axis, in the order `start`, `len`,
/// `step`. The operands are integer scalars, and each must be within its interval in every run.
///
/// Axes are ascending, and axes known to be selected completely are omitted. Integers are normalised: step is
/// 1 if `len <= 1`, and start is 0 if `len = 0`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slice {
    /// The slices by ascending axis.
    pub axes: AxisSlices<()>,
}

impl Slice {
    /// A static slice.
    pub fn fixed(axes: impl IntoIterator<Item = (usize, AxisSlice)>) -> Self {
        Self { axes: axes.into_iter().map(|(axis, slice)| (axis, slice.into())).collect() }
    }

    /// The slices by axis, with operands taken from the inputs after the data.
    ///
    /// # Errors
    /// If the number of operands is wrong.
    pub fn bind<V: Clone>(&self, operands: &[V]) -> Result<AxisSlices<V>, OpError> {
        let numbers = self.axes.iter().flat_map(|(_, slice)| slice.numbers());
        let count = numbers.filter(|number| number.as_int().is_none()).count();
        Arity::exactly(1 + count).check(1 + operands.len())?;
        let mut operands = operands.iter().cloned();
        let bind = |(axis, slice): &(usize, DynAxisSlice<()>)| Some((*axis, slice.bind(&mut operands)?));
        self.axes.iter().map(bind).collect::<Option<_>>().ok_or(OpError::NotConnected { port: 1 })
    }

    /// The slices by axis, if all are static.
    pub fn as_static(&self) -> Option<SmallVector<(usize, AxisSlice), 2>> {
        self.axes.iter().map(|(axis, slice)| Some((*axis, slice.as_static()?))).collect()
    }
}

impl From<Slice> for Op {
    fn from(slice: Slice) -> Self {
        Self::Slice(Box::new(slice))
    }
}

impl OpDef for Slice {
    const NAMES: &'static [OpName] = &[OpName::snick("slice", Category::Slice).doc(
        "Element `k` of a sliced axis is element `start + k * step` of the data. Numbers written `in <interval>` are \
         integer scalar inputs after the data, in the order of the axes.",
    )];
    const ARITY: Arity = Arity::at_least(1);
    const TRAITS: OpTraits =
        OpTraits::PURE.union(OpTraits::MOVES_ELEMENTS).union(OpTraits::VIEW).union(OpTraits::STRIDED);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let axes = raw.attrs.sizes("axes")?.ok_or(missing("axes"))?;
        let numbers = |name: &'static str| -> Result<Vec<IntOrValue<()>>, OpError> {
            let numbers: Option<Vec<IntOrValue<()>>> = match raw.attrs.get(name) {
                Some(AttrValue::Ints(ints)) => Some(ints.iter().map(|&int| Int(int)).collect()),
                Some(AttrValue::Texts(texts)) => texts.iter().map(|text| parse_number(text)).collect(),
                Some(_) => None,
                None => return Err(missing(name)),
            };
            let of_each_axis = numbers.filter(|numbers| numbers.len() == axes.len());
            of_each_axis.ok_or_else(|| raw.attrs.bad(name, "an integer or `in <interval>` for each axis"))
        };
        let (starts, lens, steps) = (numbers("start")?, numbers("len")?, numbers("step")?);
        let mut op = Self { axes: SmallVector::new() };
        for (i, &axis) in axes.iter().enumerate() {
            let slice = DynAxisSlice { start: starts[i], len: lens[i], step: steps[i] };
            let ascends = op.axes.last().is_none_or(|(last, _)| *last < axis);
            let is_normal = match (slice.start, slice.len, slice.step) {
                (_, _, Int(0)) => false,
                (Int(start), _, _) if start < 0 => false,
                (start, Int(0), step) => start == Int(0) && step == Int(1),
                (_, Int(1), step) => step == Int(1),
                (_, Int(len), _) => len >= 0,
                _ => true,
            };
            if !ascends || !is_normal {
                return Err(raw.attrs.bad("axes", "ascending axes, each with a slice in normal form"));
            }
            op.axes.push((axis, slice));
        }
        Ok(op)
    }

    fn attrs(&self) -> Attrs<'static> {
        let axes: SmallVector<i64, 4> = self.axes.iter().map(|(axis, _)| *axis as i64).collect();
        let mut attrs = Attrs::new();
        attrs.push("axes".into(), AttrValue::Ints(axes));
        for (name, i) in [("start", 0), ("len", 1), ("step", 2)] {
            let numbers = self.axes.iter().map(|(_, slice)| slice.numbers()[i]);
            let ints: Option<SmallVector<i64, 4>> = numbers.clone().map(|number| number.as_int()).collect();
            let value = match ints {
                Some(ints) => AttrValue::Ints(ints),
                None => AttrValue::Texts(numbers.map(print_number).collect()),
            };
            attrs.push(name.into(), value);
        }
        attrs
    }

    fn attr_specs() -> Vec<AttrSpec> {
        let number = |name, doc| AttrSpec::required(name, "list of integers and `in <interval>`".into(), doc);
        vec![
            AttrSpec::required("axes", "non-negative integers".into(), "The sliced axes, ascending."),
            number("start", "Index of the first element, for each axis."),
            number("len", "Number of elements, for each axis."),
            number("step", "Distance from one element to the next, for each axis; never 0."),
        ]
    }
}

impl InferOp for Slice {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let operands: SmallVector<usize, 6> = (1..cx.len()).collect();
        let slices = self.bind(&operands)?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(Facts::from(Fact::new(cx.element_type(0), Shape::unranked())));
        };
        let mut dims: Vec<SymExpr> = dims.to_vec();
        for (axis, slice) in slices {
            let Some(dim) = dims.get(axis).cloned() else { return Err(no_axis(axis, dims.len())) };
            let mut expr = |number, is_len| match number {
                Int(int) => Ok(SymExpr::from(int)),
                IntOrValue::Value(input, interval) => operand_value(cx, input, interval, is_len),
            };
            let [start, len, step] = slice.numbers();
            expr(start, false)?;
            let len = expr(len, true)?;
            expr(step, false)?;
            if let Some(slice) = slice.as_static() {
                check_range(axis, slice, cx.interval(&dim).hi())?;
            }
            dims[axis] = cx.as_dim(&len).ok_or_else(|| OpError::out_of_range("len", -1, "0 or more"))?;
        }
        let fact = Fact::new(cx.element_type(0), Shape::ranked(dims));
        // Select from the known elements of a small integer tensor.
        let elements = self.as_static().and_then(|slices| select_elements(cx.input(0), &slices));
        Ok(Facts::from(fact.with_elements(elements)))
    }
}

impl EvalOp for Slice {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, operands @ ..] = inputs else { return Err(OpError::NotConnected { port: 0 }) };
        let operands: Result<SmallVector<i64, 6>, _> =
            operands.iter().map(|operand| operand.to_i64(0)).collect();
        Ok(vec![self.select(data, &operands?)?])
    }
}

impl Slice {
    /// Selects elements of concrete data, with the given operands, as a view.
    ///
    /// # Errors
    /// If the number of operands is wrong, an operand lies outside its interval, or an index lies outside its
    /// axis.
    pub fn select(&self, data: &Tensor, operands: &[i64]) -> Result<Tensor, OpError> {
        let mut view = data.clone();
        for (axis, slice) in self.bind(operands)? {
            let mut numbers = [0i64; 3];
            for (int, number) in numbers.iter_mut().zip(slice.numbers()) {
                *int = match number {
                    IntOrValue::Value(value, interval) if !interval.contains(value) => {
                        return Err(OpError::out_of_range("an operand", value, format!("{interval}")));
                    }
                    Int(value) | IntOrValue::Value(value, _) => value,
                };
            }
            let [start, len, step] = numbers;
            let Some(&dim) = view.dims().get(axis) else { return Err(no_axis(axis, view.rank())) };
            if len == 0 {
                view.narrow(axis, 0, 0, 1)?;
                continue;
            }
            check_range(axis, AxisSlice { start, len, step }, dim as i64)?;
            // The slice is in range, so start, length and step fit in usize and isize.
            let (start, len) = (start as usize, len as usize);
            view.narrow(axis, start, len, if len == 1 { 1 } else { step as isize })?;
        }
        Ok(view)
    }
}

fn no_axis(axis: usize, rank: usize) -> OpError {
    OpError::out_of_range("axis", axis as i64, format!("below rank {rank}"))
}

/// The known elements of `data` that static slices select, in row-major order.
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

/// The value of an operand, refined by its interval. A length is always within its interval, which follows
/// from sizes. A start may be outside its interval, in which case the run fails when it reaches this slice.
/// Other ops must therefore not rely on the interval of a start.
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
        // A start outside its interval is not an error yet: the slice may never run.
        if !is_len {
            return Ok(cx.unknown(interval));
        }
        return Err(OpError::conflict(
            format!("operand {input} is {{}}, its interval {{}}"),
            range,
            interval,
        ));
    };
    if !is_len || known.as_symbol().is_some() {
        // Refine neither a start nor a bare symbol: other ops may use the same value where the bounds of this
        // slice need not hold.
        return Ok(cx.unknown(both));
    }
    cx.symbols().refine(&known, both);
    Ok(known)
}

/// Checks that every index lies within an axis of at most `dim` elements.
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

fn print_number(number: IntOrValue<()>) -> String {
    match number {
        Int(int) => int.to_string(),
        IntOrValue::Value((), interval) => format!("in {interval}"),
    }
}

fn parse_number(text: &str) -> Option<IntOrValue<()>> {
    match text.strip_prefix("in ") {
        Some(interval) => {
            // In a shape, -1 would mean any size, but here it is the number -1.
            let exact = interval.parse().ok().map(Interval::exact);
            exact.or_else(|| interval.parse().ok()).map(|interval| IntOrValue::Value((), interval))
        }
        None => text.parse().ok().map(Int),
    }
}

#[cfg(test)]
mod tests {
    use crate::text;

    fn is_slice(attributes: &str) -> bool {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"9,9\"}}\n%y = slice(%x) {{{attributes}}}"
        );
        text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).is_ok()
    }

    #[test]
    fn only_slices_in_normal_form_are_read() {
        let read = |start: i64, len: i64, step: i64| {
            is_slice(&format!("axes: [0], start: [{start}], len: [{len}], step: [{step}]"))
        };
        for (start, len, step) in [(0, 2, 1), (1, 2, -1), (0, 0, 1), (3, 1, 1), (0, 3, 2)] {
            assert!(read(start, len, step), "{start} {len} {step}");
        }
        for (start, len, step) in
            [(-1, 2, 1), (1, 2, 0), (1, 0, 1), (0, 0, 2), (3, 1, 2), (0, -1, 1), (-1, 1, 1), (-1, 0, 1)]
        {
            assert!(!read(start, len, step), "{start} {len} {step}");
        }
    }

    #[test]
    fn sliced_axes_ascend() {
        let read = |axes: &str| is_slice(&format!("axes: {axes}, start: [1, 1], len: [2, 2], step: [1, 1]"));
        assert!(read("[0, 1]"));
        assert!(!read("[1, 0]"));
        assert!(!read("[1, 1]"));
        assert!(!read("[0]"), "fewer axes than numbers");
    }
}
