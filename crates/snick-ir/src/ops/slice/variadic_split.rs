//! VariadicSplit-1: parts of given lengths.

use snick_shape::{AxisSlice, Interval, Shape, SymExpr};
use snick_tensor::{Listed, Tensor};

use super::index_inputs::entry_count;
use super::primitive::select_elements;
use super::split::{eval_axis, known_axis};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntegerRole, OpError, exactly};

op! {
    /// Splits an axis into parts of given lengths. Inputs: data, axis and lengths. One length may be -1,
    /// which stands for the rest of the axis.
    #[op(
        "VariadicSplit", since = [1], inputs = Arity::exactly(3),
        category = Slice, traits = [PURE, MOVES_ELEMENTS, SLICE_LIKE, VIEW, STRIDED]
    )]
    pub struct VariadicSplit;
}

/// The maximum number of parts, which is more than any model has. Without this limit, a file could declare
/// any number of outputs.
const MAX_PARTS: usize = 1 << 16;

/// The lengths, if constant and at most `MAX_PARTS`.
pub fn constant_lengths(fact: &Fact) -> Option<Vec<i64>> {
    let tensor = fact.as_tensor().filter(|tensor| tensor.len() <= MAX_PARTS)?;
    tensor.element_type().is_integer().then(|| tensor.to_i64_vec().ok())?
}

/// The parts as expressions, with -1 resolved.
struct Parting {
    lens: Vec<SymExpr>,
    starts: Vec<SymExpr>,
}

impl VariadicSplit {
    fn parting(cx: &mut Infer, lengths: &[SymExpr], dim: &SymExpr) -> Result<Parting, OpError> {
        let sizes = cx.interval(dim);
        let rest = lengths.iter().position(|len| len.as_const() == Some(-1));
        for (i, len) in lengths.iter().enumerate() {
            let value = len.as_const().unwrap_or(0);
            if value < 0 && Some(i) != rest {
                let expected = "0 or more, or -1 once";
                return Err(OpError::out_of_range(format!("split_lengths[{i}]"), value, expected));
            }
        }
        let known = lengths.iter().enumerate().filter(|(i, _)| Some(*i) != rest);
        let least = known.clone().map(|(_, len)| i128::from(cx.interval(len).lo().max(0))).sum::<i128>();
        if i64::try_from(least).is_err() {
            return Err(OpError::mismatch("the sum of split_lengths", least, "the size of the axis"));
        }
        let sum = known.fold(SymExpr::from(0), |sum, (_, len)| cx.add(&sum, len));
        let sums = cx.interval(&sum);
        let conflict = || OpError::conflict("the split lengths add up to {}, the axis has {}", sums, sizes);
        let mut lens = lengths.to_vec();
        // If another length may be -1 at run time, the length of the rest cannot be computed.
        let open = lengths.iter().enumerate().any(|(i, len)| Some(i) != rest && cx.interval(len).lo() < 0);
        for (i, len) in lens.iter_mut().enumerate() {
            if Some(i) == rest && !open {
                let left = cx.sub(dim, &sum);
                *len = match cx.as_dim(&left) {
                    Some(left) => left,
                    None => {
                        cx.report(conflict());
                        cx.unknown(Interval::DIM)
                    }
                };
            } else if cx.interval(len).lo() < 0 {
                *len = cx.up_to(dim);
            }
        }
        if rest.is_none() && !open {
            cx.demand_equal(&sum, dim);
            if sums.meet(sizes).is_none() {
                cx.report(conflict());
            }
        }
        let mut starts = Vec::with_capacity(lens.len());
        let mut start = SymExpr::from(0);
        for len in &lens {
            starts.push(start.clone());
            start = cx.add(&start, len);
        }
        Ok(Parting { lens, starts })
    }
}

impl InferOp for VariadicSplit {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.demand_axes(1);
        cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
        let element_type = cx.element_type(0);
        cx.demand_role(2, || IntegerRole::Lengths);
        let declared = cx.declared().count();
        let count = entry_count(cx.input(2), "split_lengths")?.unwrap_or(declared);
        if count > MAX_PARTS {
            let expected = format!("at most {MAX_PARTS}");
            return Err(OpError::out_of_range("the number of parts", count as i64, expected));
        }
        let Some(dims) = cx.shape(0).dims() else {
            return Ok((0..count).map(|_| Fact::new(element_type, Shape::unranked())).collect());
        };
        let Some(axis) = known_axis(cx.input(1), dims.len())? else {
            return Ok((0..count).map(|_| Fact::new(element_type, cx.any_smaller(dims))).collect());
        };
        let dim = &dims[axis];
        let constant = constant_lengths(cx.input(2))
            .map(|lengths| lengths.into_iter().map(SymExpr::from).collect::<Vec<_>>());
        let Some(lengths) = constant.or_else(|| cx.elements_or_unknown(2)) else {
            let part = |_| {
                let mut part = dims.to_vec();
                part[axis] = cx.up_to(dim);
                Fact::new(element_type, Shape::ranked(part))
            };
            return Ok((0..count).map(part).collect());
        };
        let parting = Self::parting(cx, &lengths, dim)?;
        let mut facts = Facts::new();
        for (len, start) in parting.lens.iter().zip(&parting.starts) {
            let mut part = dims.to_vec();
            part[axis] = len.clone();
            let slice =
                start.as_const().zip(len.as_const()).map(|(start, len)| AxisSlice { start, len, step: 1 });
            let elements = slice.and_then(|slice| select_elements(cx.input(0), &[(axis, slice)]));
            facts.push(Fact::new(element_type, Shape::ranked(part)).with_elements(elements));
        }
        Ok(facts)
    }
}

impl EvalOp for VariadicSplit {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, axis, lengths] = exactly(inputs)?;
        let axis = eval_axis(axis, data.rank())?;
        let size = data.dims()[axis];
        let lengths = lengths.to_i64_vec()?;
        let known = lengths.iter().filter(|&&len| len >= 0);
        let sum =
            known.fold(0usize, |sum, &len| sum.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)));
        let conflict =
            || OpError::conflict("the split lengths are {}, the axis has {}", Listed(&lengths), size);
        let open = lengths.iter().filter(|&&len| len < 0).count();
        if lengths.iter().any(|&len| len < -1) || open > 1 || sum > size || (open == 0 && sum != size) {
            return Err(conflict());
        }
        let mut start = 0;
        let mut parts = Vec::with_capacity(lengths.len());
        for &len in &lengths {
            let len = usize::try_from(len).unwrap_or(size - sum);
            parts.push(data.slice(axis, start, len, 1)?);
            start += len;
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::Interval;

    use crate::text;

    #[test]
    fn a_constant_may_have_more_lengths_than_elements_are_carried() {
        let lengths: Vec<String> = (0..5000).map(|k| (k % 3).to_string()).collect();
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"4999\"}}\n  %axis = Const-1 i64[] <0>\n  \
             %lengths = Const-1 i64[5000] <{}>\n  %parts = VariadicSplit-1(%x, %axis, %lengths)\n  \
             %y = Result-1(%parts:4999)\n}}\n",
            lengths.join(", ")
        );
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(crate::infer(&mut graph), []);
        let parts = graph.node(graph.find("parts").unwrap());
        let shape = |port: usize| parts.outs()[port].fact.shape().display(graph.symbols()).to_string();
        assert_eq!([shape(4998), shape(4999)], ["[0]", "[1]"]);
    }

    /// The sizes of the two parts of an axis of 10 elements, and the number of errors.
    fn parts(lengths: &str) -> ([Interval; 2], usize) {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"10\"}}\n%axis = Const-1 i64[] <0>\n{lengths}\n\
             %parts:2 = VariadicSplit-1(%x, %axis, %lengths)"
        );
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        let errors = crate::infer(&mut graph).len();
        let parts = graph.node(graph.find("parts").unwrap());
        let size = |port: usize| parts.outs()[port].fact.shape.dims().unwrap()[0].clone();
        ([0, 1].map(|port| graph.symbols().interval(&size(port))), errors)
    }

    #[test]
    fn the_open_part_is_what_the_others_leave() {
        let rest = parts("%lengths = Const-1 i64[2] <3, -1>");
        assert_eq!(rest, ([3, 7].map(Interval::exact), 0));
        // The other length may also be -1 at run time, so neither part has a known size.
        let any = parts(
            "%open = Const-1 i64[1] <-1>\n%n = Parameter-1 {element_type: i64, shape: \"1\"}\n\
             %lengths = Concat-1(%open, %n) {axis: 0}",
        );
        assert_eq!(any, ([Interval::new(0, 10).unwrap(); 2], 0));
    }

    #[test]
    fn lengths_add_up_to_the_axis() {
        assert_eq!(parts("%lengths = Const-1 i64[2] <3, 7>").1, 0);
        assert_eq!(parts("%lengths = Const-1 i64[2] <3, 6>").1, 1);
        assert_eq!(parts("%lengths = Const-1 i64[2] <3, 8>").1, 1);
        assert_eq!(parts("%lengths = Const-1 i64[2] <11, -1>").1, 1);
    }
}
