//! OpenVINO's SelectiveSSM, the recurrence of Mamba 2, and its paged variant.

use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use crate::ops::detection::checks::{check_dims, common_dim, dims_of, expect_ranks};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// State space model over sequences. Inputs: decay rates A `[H]`, time steps dt `[N, L, H]`, input
    /// projections B `[N, L, G, S]`, data x `[N, L, H, D]`, output projections C `[N, L, G, S]` and states
    /// `[N, H, D, S]`; `H / G` heads share a projection. Each step updates a state to
    /// `e^(A dt) state + x dt B` and outputs its product with C. Outputs: the products, in the shape of x,
    /// and the final states.
    #[op(
        "SelectiveSSM", since = [1], inputs = Arity::exactly(6),
        category = Product, traits = [PURE, CONTRACTION], name = internal_extension()
    )]
    pub struct SelectiveSsm;
}

op! {
    /// SelectiveSSM for several sequences, packed into one list of tokens. Inputs: A `[H]`, dt `[T, H]`, B
    /// `[T, G, S]`, x `[T, H, D]`, C `[T, G, S]`, a table of states `[P, H, D, S]`, which is updated in
    /// place, and vectors that assign tokens and states to sequences. The output has the shape of x. Shape
    /// inference only; cannot be run.
    #[op(
        "PagedSelectiveSSM", since = [1], inputs = Arity::exactly(11),
        category = Product, traits = [], name = internal_extension()
    )]
    pub struct PagedSelectiveSsm;
}

/// Sizes that several inputs share.
struct Sizes {
    /// The dims before the heads.
    outer: Vec<SymExpr>,
    heads: SymExpr,
    head: SymExpr,
    state: SymExpr,
}

impl Sizes {
    /// Reads the sizes from inputs with this many axes before the heads.
    fn new(cx: &mut Infer, outer: usize) -> Result<Self, OpError> {
        let axes = |axis: usize| [(3, axis), (1, axis), (2, axis), (4, axis)];
        let outer_dims: Result<_, _> = (0..outer).map(|axis| common_dim(cx, &axes(axis))).collect();
        let heads = common_dim(cx, &[(3, outer), (0, 0), (1, outer), (5, 1)])?;
        let groups = common_dim(cx, &[(2, outer), (4, outer)])?;
        if let (Some(heads), Some(groups)) = (heads.as_const(), groups.as_const())
            && (groups == 0 || heads % groups != 0)
        {
            return Err(OpError::mismatch("the heads", heads, format!("a multiple of the {groups} groups")));
        }
        let head = common_dim(cx, &[(3, outer + 1), (5, 2)])?;
        let state = common_dim(cx, &[(2, outer + 1), (4, outer + 1), (5, 3)])?;
        Ok(Self { outer: outer_dims?, heads, head, state })
    }

    /// The shape of x.
    fn data(&self) -> Shape {
        Shape::ranked(self.outer.iter().chain([&self.heads, &self.head]).cloned())
    }
}

impl InferOp for SelectiveSsm {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[1, 3, 4, 4, 4, 4])?;
        (0..6).try_for_each(|port| cx.expect_real(port))?;
        let sizes = Sizes::new(cx, 2)?;
        let batch = common_dim(cx, &[(3, 0), (5, 0)])?;
        let (data, state) = (sizes.data(), Shape::ranked([batch, sizes.heads, sizes.head, sizes.state]));
        Ok(Facts::from([Fact::new(cx.element_type(3), data), Fact::new(cx.element_type(5), state)]))
    }
}

impl InferOp for PagedSelectiveSsm {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..5);
        expect_ranks(cx, &[1, 2, 3, 3, 3, 4, 1, 1, 1, 1, 1])?;
        (6..11).try_for_each(|port| cx.expect_index(port))?;
        Ok(Facts::from(Fact::new(element_type, Sizes::new(cx, 1)?.data())))
    }
}

impl EvalOp for SelectiveSsm {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [rates, steps, ins, data, outs, states] = exactly(inputs)?;
        let [batch, length, heads, width] = dims_of("the data", data)?;
        let [_, _, groups, size] = dims_of("the input projections", ins)?;
        check_dims("the decay rates", rates, &[heads])?;
        check_dims("the time steps", steps, &[batch, length, heads])?;
        check_dims("the input projections", ins, &[batch, length, groups, size])?;
        check_dims("the output projections", outs, &[batch, length, groups, size])?;
        check_dims("the states", states, &[batch, heads, width, size])?;
        if groups == 0 || !heads.is_multiple_of(groups) {
            return Err(OpError::mismatch("the heads", heads, format!("a multiple of the {groups} groups")));
        }
        let numbers = |tensor: &Tensor| tensor.to_f32_vec();
        let (rates, steps, ins, outs) = (numbers(rates)?, numbers(steps)?, numbers(ins)?, numbers(outs)?);
        let (x, mut state) = (numbers(data)?, numbers(states)?);
        let mut y = vec![0f32; x.len()];
        for at in 0..batch * length * heads {
            let (token, head) = (at / heads, at % heads);
            let step = steps[at];
            let decay = (rates[head] * step).exp();
            let group = (token * groups + head / (heads / groups)) * size;
            let (input, output) = (&ins[group..group + size], &outs[group..group + size]);
            let first = (token / length * heads + head) * width;
            for column in 0..width {
                let own = &mut state[(first + column) * size..(first + column + 1) * size];
                let weight = x[at * width + column] * step;
                for ((own, input), output) in own.iter_mut().zip(input).zip(output) {
                    *own = *own * decay + weight * input;
                    y[at * width + column] += *own * output;
                }
            }
        }
        let like = |values: Vec<f32>, tensor: &Tensor| -> Result<Tensor, OpError> {
            Ok(Tensor::from_vec(tensor.dims(), values)?.cast(tensor.element_type())?)
        };
        Ok(vec![like(y, data)?, like(state, states)?])
    }
}

only_inferred!(PagedSelectiveSsm);

#[cfg(test)]
mod tests {
    use snick_tensor::ElementType;

    use super::*;

    #[test]
    fn states_decay_and_take_in_each_step() {
        let tensor = |dims: &[usize], values: &[f32]| Tensor::from_slice(values, dims).unwrap();
        // Two time steps of two heads in one group, with states of one element.
        let inputs = [
            tensor(&[2], &[0., -1.]),
            tensor(&[1, 2, 2], &[1., 1., 2., 1.]),
            tensor(&[1, 2, 1, 1], &[1., 3.]),
            tensor(&[1, 2, 2, 1], &[5., 7., 1., 0.]),
            tensor(&[1, 2, 1, 1], &[1., 10.]),
            tensor(&[1, 2, 1, 1], &[100., 0.]),
        ];
        let out = SelectiveSsm.eval(&inputs).unwrap();
        let decayed = 7. * (-1f32).exp();
        assert_eq!(out[0].to_f32_vec().unwrap(), [105., 7., 1110., decayed * 10.]);
        assert_eq!(out[1].to_f32_vec().unwrap(), [111., decayed]);
        let half = inputs[3].cast(ElementType::F16).unwrap();
        let mut mixed = inputs.clone();
        mixed[3] = half;
        let out = SelectiveSsm.eval(&mixed).unwrap();
        assert_eq!([out[0].element_type(), out[1].element_type()], [ElementType::F16, ElementType::F32]);
        mixed[5] = tensor(&[1, 2, 1, 2], &[0.; 4]);
        assert!(SelectiveSsm.eval(&mixed).is_err());
    }
}
