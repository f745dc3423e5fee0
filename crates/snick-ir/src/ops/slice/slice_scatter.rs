//! SliceScatter-15: replaces a slice of the data.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{SmallVector, Tensor};

use super::axis_range::select;
use super::index_inputs::facts_of;
use super::slice8::SliceRanges;
use crate::ops::movement::propagate_elements::propagate_elements;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Replaces a slice of input 0 with input 1, which has the shape of the slice. Inputs 2 to 5 are start,
    /// stop, step and, optionally, axes, as in Slice-8.
    #[op("SliceScatter", since = [15], inputs = Arity::between(5, 6), category = Slice, traits = [PURE])]
    pub struct SliceScatter;
}

impl InferOp for SliceScatter {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type([0, 1]);
        for i in 0..2 {
            cx.expect_rank(i, "1 or more", |rank| rank >= 1)?;
        }
        let ranges = SliceRanges::of(&without_updates(cx.inputs()))?;
        let shape = match (cx.shape(0).dims(), cx.shape(1).dims()) {
            (Some(data), updates) => {
                let updates: SmallVector<SymExpr, 4> = match updates {
                    Some(updates) if updates.len() == data.len() => updates.into(),
                    Some(_) => {
                        return Err(cx.conflict(
                            "cannot update a slice of {} with {}",
                            cx.shape(0),
                            cx.shape(1),
                        ));
                    }
                    None => return Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone()))),
                };
                self.check_updates(cx, &ranges, data, &updates)?
            }
            (None, Some(updates)) => cx.unknown_dims(updates.len()),
            (None, None) => Shape::unranked(),
        };
        let elements = propagate_elements(self, cx, &[0, 1], &shape);
        Ok(Facts::from(Fact::new(element_type, shape).with_elements(elements)))
    }
}

impl EvalOp for SliceScatter {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, updates, indices @ ..] = inputs else { return Err(OpError::NotConnected { port: 1 }) };
        let count = i64::try_from(data.len()).unwrap_or(i64::MAX);
        // Slice a tensor of positions to find where the updates go.
        let mut sliced = vec![Tensor::from_vec(data.dims(), (0..count).collect())?];
        sliced.extend(indices.iter().cloned());
        let SliceRanges::Known(ranges) = SliceRanges::of(&facts_of(&sliced))? else {
            return Err(OpError::NoValue {
                what: "`axes`".into(),
                why: "it is not an integer vector".into(),
            });
        };
        let places = select(&sliced[0], &ranges)?;
        if places.dims() != updates.dims() {
            return Err(OpError::dims_conflict(
                "the slice is {}, its updates {}",
                places.dims(),
                updates.dims(),
            ));
        }
        let starts = places.to_i64_vec()?.into_iter().map(|at| at as usize);
        Ok(vec![runs::scatter_runs(data, 1, starts, updates)?])
    }
}

/// The inputs of the equivalent Slice-8.
fn without_updates<'f>(inputs: &[&'f Fact]) -> SmallVector<&'f Fact, 5> {
    inputs.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, fact)| *fact).collect()
}

impl SliceScatter {
    /// The shape of the data, refined by the updates: axes that are not sliced have the same size in the data
    /// and in the updates.
    fn check_updates(
        &self,
        cx: &mut Infer,
        ranges: &SliceRanges,
        data: &[SymExpr],
        updates: &[SymExpr],
    ) -> Result<Shape, OpError> {
        let mut dims: SmallVector<SymExpr, 4> = data.into();
        let conflict =
            |cx: &Infer| Err(cx.conflict("cannot update a slice of {} with {}", cx.shape(0), cx.shape(1)));
        for (axis, (dim, update)) in dims.iter_mut().zip(updates).enumerate() {
            let range = match ranges {
                SliceRanges::Known(ranges) => Some(ranges.iter().find(|range| range.axis == axis)),
                SliceRanges::DynamicAxes(_) | SliceRanges::Unranked => None,
            };
            match range {
                Some(None) => match cx.merge(dim, update) {
                    Some(merged) => *dim = merged,
                    None => return conflict(cx),
                },
                Some(Some(range)) => {
                    let length = cx.range_length(range, dim);
                    if cx.interval(&length).meet(cx.interval(update)).is_none() {
                        return conflict(cx);
                    }
                }
                None if cx.interval(update).lo() > cx.interval(dim).hi() => return conflict(cx),
                None => {}
            }
        }
        Ok(Shape::ranked(dims))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_a_slice_reads() {
        let data = Tensor::from_vec(&[2, 4], (0..8i32).collect()).unwrap();
        let vector = |v: &[i64]| Tensor::from_vec(&[v.len()], v.to_vec()).unwrap();
        let run = |updates: Tensor, indices: [&[i64]; 4]| {
            let mut inputs = vec![data.clone(), updates];
            inputs.extend(indices.map(vector));
            Some(SliceScatter.eval(&inputs).ok()?[0].to_i64_vec().unwrap())
        };
        let two = |v: [i32; 4]| Tensor::from_vec(&[2, 2], v.to_vec()).unwrap();
        let back = run(two([10, 20, 30, 40]), [&[-1], &[0], &[-2], &[1]]);
        assert_eq!(back, Some(vec![0, 20, 2, 10, 4, 40, 6, 30]));
        assert_eq!(run(two([0; 4]), [&[0], &[9], &[1], &[1]]), None);
        assert_eq!(run(two([0; 4]), [&[0], &[2], &[1], &[2]]), None);
    }

    #[test]
    fn updates_on_unknown_axes_are_no_larger_than_the_data() {
        let infer = |updates: &str| {
            let layers = format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"4,6\"}}\n\
                 %u = Parameter-1 {{element_type: f32, shape: \"{updates}\"}}\n\
                 %one = Const-1 i64[1] <1>\n%end = Const-1 i64[1] <9>\n\
                 %axis = Parameter-1 {{element_type: i64, shape: \"1\"}}\n\
                 %y = SliceScatter-15(%x, %u, %one, %end, %one, %axis)"
            );
            let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
            let mut graph = crate::text::parse(&text, None).unwrap();
            let errors = crate::infer(&mut graph);
            let shape = graph.node(graph.ids().last().unwrap()).outs()[0].fact.shape.clone();
            (errors.len(), shape)
        };
        assert_eq!(infer("3,6"), (0, Shape::from([4, 6])));
        assert_eq!(infer("4,6"), (0, Shape::from([4, 6])));
        assert_eq!(infer("5,6").0, 1);
    }
}
