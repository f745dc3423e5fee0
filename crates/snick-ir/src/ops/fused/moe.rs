//! MOE, from OpenVINO's plug-ins, and its variant with compressed weights.

use snick_tensor::kernels::{self, BinaryOp, UnaryOp};
use snick_tensor::{ElementType, Tensor};

use super::rms::output_type;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// Mixture of experts without the router. The output has the shape of the tokens. Inputs:
    ///
    /// - Tokens `[.., H]`.
    /// - Routing weights, either `[E, .., 1]` for all experts or `[T, K]` for the chosen experts.
    /// - The chosen experts `[.., K]`.
    /// - The weights and biases of the experts.
    ///
    /// With `expert_type` `gemm3_swiglu`, the weights are gate `[E, I, H]`, up `[E, I, H]` and down
    /// `[E, H, I]`. An expert computes `(swish(x @ gate^T) * (x @ up^T)) @ down^T`, where `@` is the matrix
    /// product and an `expert_beta` of 0 means 1.
    ///
    /// With `gemm2_bias_swiglu_clamp`, the inputs are first weights `[E, H, 2I]` or `[E, 2I, H]`, a bias,
    /// second weights `[E, I, H]` or `[E, H, I]`, and a bias. The columns of the first product alternate
    /// between gate and up. An expert multiplies
    /// `(clamp(up, -expert_alpha, expert_alpha) + 1) * swish(min(gate, expert_alpha))` by the second weights
    /// and adds the second bias.
    ///
    /// Some early releases swapped `expert_alpha` and `expert_beta`. Their files have no `gate_idx`, so
    /// `gemm2_bias_swiglu_clamp` can then be inferred but not run.
    #[op(
        "MOE", since = [1], inputs = Arity::between(6, 9),
        category = Product, traits = [PURE], name = internal_extension()
    )]
    pub struct Moe {
        /// The computation of an expert.
        pub expert_type: ExpertType,
        /// Clamp limit after the first product.
        pub expert_alpha: f64 = 0.0,
        /// The factor in the exponent of swish.
        pub expert_beta: f64 = 1.0,
        /// The position of the gate in each pair of columns, 0 or 1, for `gemm2_bias_swiglu_clamp`.
        pub gate_idx: Option<usize>,
        /// The activation of the gate; swish if absent.
        pub activation_type: Option<String>,
    }
}

op! {
    /// MOE with compressed weights. The output has the shape of input 0. Shape inference only; cannot be run.
    #[op(
        "MOECompressed", since = [1], inputs = Arity::at_least(6),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct MoeCompressed {
        /// The computation of an expert.
        pub expert_type: Option<String>,
        /// Clamp limit after the first product.
        pub expert_alpha: Option<f64>,
        /// The factor in the exponent of swish.
        pub expert_beta: Option<f64>,
        /// The position of the gate in each pair of columns, 0 or 1.
        pub gate_idx: Option<usize>,
        /// The activation of the gate.
        pub activation_type: Option<String>,
        /// Number of features of a token.
        pub hidden_size: Option<usize>,
        /// Number of features between the first and the last matrix product.
        pub inter_size: Option<usize>,
        /// The number of experts.
        pub num_expert: Option<usize>,
        /// The number of experts that all tokens share.
        pub num_shared_expert: Option<usize>,
        /// Number of experts per token.
        pub top_k: Option<usize>,
        /// Number of elements that share a scale; 18446744073709551615 for a whole row.
        pub group_size: Option<String>,
        /// Whether the tokens have a batch axis.
        pub has_batch_dim: Option<bool>,
        /// Whether there are zero points.
        pub has_zp: Option<bool>,
        /// The element type of the output; `dynamic` for the type of input 0.
        pub out_type: ElementType = ElementType::Dynamic,
        /// How the router computes weights from its scores.
        pub routing_type: Option<String>,
    }
}

/// The computation of an expert.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ExpertType {
    /// Two matrix products with biases and clamping.
    Gemm2BiasSwigluClamp,
    /// Three matrix products.
    Gemm3Swiglu,
}

// One release writes `gemm2_bias_gelu` for `gemm3_swiglu`.
attr_words!(ExpertType {
    Gemm2BiasSwigluClamp = "gemm2_bias_swiglu_clamp",
    Gemm3Swiglu = "gemm3_swiglu" | "gemm2_bias_gelu",
});

impl InferOp for Moe {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "2 or more", |rank| rank >= 2)?;
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }

    fn cost(&self, inputs: &[&Fact], _: &Fact) -> Option<OpCost> {
        let (_, tokens) = inputs[0].shape.dims()?.split_last()?;
        let rows = [tokens, inputs[2].shape.dims()?.last_chunk::<1>()?].concat();
        let matrices = inputs[3..].iter().filter_map(|weights| match weights.shape.dims()? {
            [_, inner, outer] if inner.as_const() != Some(1) => {
                Some([&rows, &[inner.clone(), outer.clone()][..]].concat())
            }
            _ => None, // a bias
        });
        let terms: Vec<_> = matrices.collect();
        (!terms.is_empty()).then_some(OpCost::MultiplyAdds(terms))
    }
}

impl InferOp for MoeCompressed {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = output_type(self.out_type, cx.element_type(0));
        Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone())))
    }
}

only_inferred!(MoeCompressed);

impl EvalOp for Moe {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        if let Some(other) = self.activation_type.as_deref().filter(|f| !f.eq_ignore_ascii_case("swiglu")) {
            return Err(OpError::unsupported(format!("activation_type {other}")));
        }
        let [hidden, routing, chosen, weights @ ..] = inputs else {
            return Err(OpError::Arity { expected: "6 or more".into(), got: inputs.len() });
        };
        let wide = |tensor: &Tensor| tensor.cast(ElementType::F32);
        let width = hidden.dims().last().copied().unwrap_or_default();
        let tokens = hidden.len().checked_div(width).unwrap_or_default();
        let x = wide(hidden)?.reshape(&[tokens, width])?;
        let weights = weights.iter().map(wide).collect::<Result<Vec<_>, _>>()?;
        let experts = weights.first().and_then(|w| w.dims().first()).copied().unwrap_or_default();
        let shares = Shares::new(routing, chosen, experts, tokens)?;
        let mut sum = vec![0f32; hidden.len()];
        for expert in 0..experts {
            let of_tokens = shares.of(expert);
            let rows: Vec<usize> = (0..tokens).filter(|&token| of_tokens[token] != 0.).collect();
            if rows.is_empty() {
                continue;
            }
            let own: Vec<Tensor> = rows.iter().map(|&row| x.slice(0, row, 1, 1)).collect::<Result<_, _>>()?;
            let own = kernels::concat(&own.iter().collect::<Vec<_>>(), 0)?;
            let out = self.expert(&own, &weights, expert)?;
            if out.dims() != [rows.len(), width] {
                let sentence = "an expert returns {} for tokens {}";
                return Err(OpError::dims_conflict(sentence, out.dims(), &[rows.len(), width]));
            }
            for (row, values) in rows.iter().zip(out.to_f32_vec()?.chunks(width)) {
                let of_row = sum[row * width..(row + 1) * width].iter_mut();
                of_row.zip(values).for_each(|(sum, value)| *sum += of_tokens[*row] * value);
            }
        }
        Ok(vec![Tensor::from_vec(hidden.dims(), sum)?.cast(hidden.element_type())?])
    }
}

impl Moe {
    /// Applies an expert to rows of tokens.
    fn expert(&self, x: &Tensor, weights: &[Tensor], expert: usize) -> Result<Tensor, OpError> {
        let of = |port: usize| -> Result<Tensor, OpError> {
            let tensor = weights.get(port).ok_or(OpError::NotConnected { port: port + 3 })?;
            if tensor.rank() != 3 || tensor.dims()[0] <= expert {
                let refused = OpError::unsupported(format!("weights of dims {:?}", tensor.dims()));
                return Err(refused);
            }
            Ok(tensor.slice(0, expert, 1, 1)?.squeeze(0)?)
        };
        match self.expert_type {
            ExpertType::Gemm3Swiglu => {
                if weights.len() > 3 {
                    return Err(OpError::unsupported("gemm3_swiglu with more inputs than three weights"));
                }
                let beta = if self.expert_beta == 0. { 1. } else { self.expert_beta };
                let gate = UnaryOp::Swish { beta }.apply(&kernels::matmul(x, &of(0)?, false, true)?)?;
                let up = kernels::matmul(x, &of(1)?, false, true)?;
                Ok(kernels::matmul(&BinaryOp::Mul.apply(&gate, &up)?, &of(2)?, false, true)?)
            }
            ExpertType::Gemm2BiasSwigluClamp => {
                let (first, second) = (of(0)?, of(2)?);
                // The token width is the first axis of one weight layout and the last axis of the other.
                let width = x.dims()[1];
                let is_plain = first.dims()[0] == width && first.dims()[1] == 2 * second.dims()[0];
                let both = BinaryOp::Add.apply(&kernels::matmul(x, &first, false, !is_plain)?, &of(1)?)?;
                let half = both.dims()[1] / 2;
                let absent = || OpError::unsupported("expert_alpha and expert_beta without gate_idx");
                let gate_at = self.gate_idx.ok_or_else(absent)?;
                if gate_at > 1 {
                    return Err(OpError::out_of_range(
                        "gate_idx",
                        i64::try_from(gate_at).unwrap_or(i64::MAX),
                        "0 or 1",
                    ));
                }
                let (gate, up) = (both.slice(1, gate_at, half, 2)?, both.slice(1, 1 - gate_at, half, 2)?);
                let number = |number: f64| Tensor::scalar(number).cast(ElementType::F32);
                let (least, most) = (number(-self.expert_alpha)?, number(self.expert_alpha)?);
                let gate =
                    UnaryOp::Swish { beta: self.expert_beta }.apply(&BinaryOp::Min.apply(&gate, &most)?)?;
                let up = BinaryOp::Max.apply(&BinaryOp::Min.apply(&up, &most)?, &least)?;
                let product = BinaryOp::Mul.apply(&BinaryOp::Add.apply(&up, &number(1.)?)?, &gate)?;
                let down = kernels::matmul(&product, &second, false, !is_plain)?;
                Ok(BinaryOp::Add.apply(&down, &of(3)?)?)
            }
        }
    }
}

/// The routing weight of each expert for each token.
struct Shares {
    tokens: usize,
    /// Row-major `[experts, tokens]`.
    values: Vec<f32>,
}

impl Shares {
    fn new(routing: &Tensor, chosen: &Tensor, experts: usize, tokens: usize) -> Result<Self, OpError> {
        let given = routing.to_f32_vec()?;
        let active = chosen.dims().last().copied().unwrap_or_default();
        let dims = routing.dims();
        if dims == [tokens, active] {
            let chosen = chosen.to_i64_vec()?;
            let mut values = vec![0f32; experts * tokens];
            for (at, (&expert, share)) in chosen.iter().zip(given).enumerate() {
                let index = usize::try_from(expert).ok().filter(|&expert| expert < experts);
                let refused = || OpError::out_of_range("an expert", expert, format!("0 to {}", experts - 1));
                values[index.ok_or_else(refused)? * tokens + at / active.max(1)] += share;
            }
            return Ok(Self { tokens, values });
        }
        if dims.first() == Some(&experts) && given.len() == experts * tokens {
            return Ok(Self { tokens, values: given });
        }
        Err(OpError::unsupported(format!("routing weights of dims {dims:?} for {experts} experts")))
    }

    fn of(&self, expert: usize) -> &[f32] {
        &self.values[expert * self.tokens..][..self.tokens]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dims: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    fn moe(expert_type: ExpertType) -> Moe {
        Moe { expert_type, expert_alpha: 7., expert_beta: 1., gate_idx: Some(0), activation_type: None }
    }

    fn swish(x: f32) -> f32 {
        x / (1. + (-x).exp())
    }

    #[test]
    fn the_chosen_experts_are_summed_by_their_shares() {
        // Two experts with one feature each: gate weights 1 and 2, up weights 3 and 1, down weights 1 and 10.
        let inputs = |routing: Tensor| {
            let chosen = Tensor::from_vec(&[2, 1], vec![1i64, 0]).unwrap();
            let weights = [[1f32, 2.], [3., 1.], [1., 10.]].map(|w| tensor(&[2, 1, 1], &w));
            let mut all = vec![tensor(&[2, 1], &[1., -1.]), routing, chosen];
            all.extend(weights);
            all
        };
        let expected = [0.5 * swish(2.) * 10., 0.25 * swish(-1.) * -3.];
        for routing in [tensor(&[2, 1], &[0.5, 0.25]), tensor(&[2, 1, 2, 1], &[0., 0.25, 0.5, 0.])] {
            let out = moe(ExpertType::Gemm3Swiglu).eval(&inputs(routing)).unwrap();
            let out = out[0].to_f32_vec().unwrap();
            assert!(out.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{out:?}");
        }
        // `eval` does not support biases and must reject them.
        let mut biased = inputs(tensor(&[2, 1], &[0.5, 0.25]));
        biased.insert(4, tensor(&[2, 1, 1], &[5., 5.]));
        let error = moe(ExpertType::Gemm3Swiglu).eval(&biased).unwrap_err();
        assert!(matches!(error, OpError::Unsupported { .. }), "{error}");
        let odd = inputs(tensor(&[3, 1], &[0.; 3]));
        let error = moe(ExpertType::Gemm3Swiglu).eval(&odd).unwrap_err();
        assert!(error.to_string().contains("routing weights"), "{error}");
    }

    #[test]
    fn gate_and_up_alternate_in_the_clamped_expert() {
        let inputs = |first: Tensor| {
            let chosen = Tensor::from_vec(&[1, 1], vec![0i64]).unwrap();
            vec![
                tensor(&[1, 1], &[2.]),
                tensor(&[1, 1], &[1.]),
                chosen,
                first,
                tensor(&[1, 1, 2], &[1., 0.]),
                tensor(&[1, 1, 1], &[2.]),
                tensor(&[1, 1, 1], &[0.5]),
            ]
        };
        // The gate is 2*1+1; up is 2*10, clamped to 7.
        let expected = swish(3.) * 8. * 2. + 0.5;
        for first in [tensor(&[1, 1, 2], &[1., 10.]), tensor(&[1, 2, 1], &[1., 10.])] {
            let out = moe(ExpertType::Gemm2BiasSwigluClamp).eval(&inputs(first)).unwrap();
            assert!((out[0].to_f32_vec().unwrap()[0] - expected).abs() < 1e-4);
        }
        // Releases that do not write gate_idx disagree on whether alpha or beta is the clamp limit.
        let old = Moe { gate_idx: None, ..moe(ExpertType::Gemm2BiasSwigluClamp) };
        let error = old.eval(&inputs(tensor(&[1, 1, 2], &[1., 10.]))).unwrap_err();
        assert!(error.to_string().contains("without gate_idx"), "{error}");
        // Alpha is the clamp limit, beta the factor in swish.
        let swapped = Moe { expert_alpha: 2., expert_beta: 0., ..moe(ExpertType::Gemm2BiasSwigluClamp) };
        let out = swapped.eval(&inputs(tensor(&[1, 1, 2], &[1., 10.]))).unwrap();
        assert_eq!(out[0].to_f32_vec().unwrap(), [0.5 * 2. * 3. * 2. + 0.5]);
        let other = Moe { activation_type: Some("gelu".into()), ..moe(ExpertType::Gemm2BiasSwigluClamp) };
        let error = other.eval(&inputs(tensor(&[1, 1, 2], &[1., 10.]))).unwrap_err();
        assert!(error.to_string().contains("activation_type gelu"), "{error}");
    }
}
