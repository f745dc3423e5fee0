//! Multinomial-13.

use snick_shape::{Interval, Shape};
use snick_tensor::Tensor;
use snick_tensor::kernels::random_uniform;

use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Draws random classes with probabilities proportional to their weights.
    ///
    /// Inputs: weights `[batch, classes]` and the number of samples. Output: `[batch, samples]`. Uses the
    /// same random numbers as RandomUniform with the same seeds, starting from the beginning of the sequence
    /// in every run.
    #[op("Multinomial", since = [13], inputs = Arity::exactly(2), category = Other, traits = [RANDOM])]
    pub struct Multinomial {
        /// Element type of the output.
        pub convert_type: IndexType = IndexType::I32,
        /// Whether a row may contain a class more than once.
        pub with_replacement: bool = false,
        /// Whether weights are logarithms.
        pub log_probs: bool = false,
        /// Seed of the model.
        pub global_seed: i64 = 0,
        /// Seed of this op.
        pub op_seed: i64 = 0,
    }
}

impl InferOp for Multinomial {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_real(0)?;
        cx.expect_rank(0, "2", |rank| rank == 2)?;
        cx.expect_integer(1);
        cx.expect_one(1)?;
        let samples = match cx.input(1).elements().as_deref() {
            Some([samples]) => {
                let (dim, range) = (cx.as_dim(samples), cx.interval(samples));
                dim.ok_or_else(|| OpError::mismatch("the number of samples", range, "0 or more"))?
            }
            _ => cx.unknown(Interval::DIM),
        };
        let rows = match cx.shape(0).dims() {
            Some([rows, _]) => rows.clone(),
            _ => cx.unknown(Interval::DIM),
        };
        Ok(Facts::from(Fact::new(self.convert_type.element_type(), Shape::ranked([rows, samples]))))
    }
}

impl EvalOp for Multinomial {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [weights, samples] = exactly(inputs)?;
        let &[rows, classes] = weights.dims() else {
            return Err(OpError::rank("the weights", weights.rank(), "2"));
        };
        let samples = samples.to_i64_vec()?.first().copied().unwrap_or(0);
        let samples = usize::try_from(samples)
            .map_err(|_| OpError::out_of_range("the number of samples", samples, "0 or more"))?;
        if samples > 0 && (classes == 0 || (!self.with_replacement && samples > classes)) {
            let expected = format!("at most {classes}, the number of classes");
            return Err(OpError::out_of_range("the number of samples", samples as i64, expected));
        }
        let bounds = [Tensor::scalar(0.0f32), Tensor::scalar(1.0f32)];
        let (global_seed, op_seed) = (self.global_seed as u64, self.op_seed as u64);
        let uniform = random_uniform(&[rows, samples], &bounds[0], &bounds[1], global_seed, op_seed)?;
        let uniform = uniform.to_f64_vec()?;
        let weights = weights.to_f64_vec()?;
        let mut drawn: Vec<i64> = Vec::with_capacity(uniform.len());
        for row in 0..rows {
            let mut weights: Vec<f64> = weights.iter().skip(row * classes).take(classes).copied().collect();
            if self.log_probs {
                weights.iter_mut().for_each(|w| *w = w.exp());
            }
            for u in uniform.iter().skip(row * samples).take(samples) {
                let class = draw(&weights, *u);
                if !self.with_replacement {
                    weights[class] = 0.0;
                }
                drawn.push(class as i64);
            }
        }
        Ok(vec![Tensor::from_vec(&[rows, samples], drawn)?.cast(self.convert_type.element_type())?])
    }
}

/// The class at fraction `u` of the cumulative weights; if rounding overshoots the total, the last class with
/// a nonzero weight.
fn draw(weights: &[f64], u: f64) -> usize {
    let target = u * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    for (class, weight) in weights.iter().enumerate() {
        sum += weight;
        if target < sum {
            return class;
        }
    }
    weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(with_replacement: bool, weights: &[f32], samples: i64) -> Option<Vec<i64>> {
        let op = Multinomial {
            convert_type: IndexType::I64,
            with_replacement,
            global_seed: 1,
            op_seed: 2,
            ..Multinomial::default()
        };
        let weights = Tensor::from_vec(&[1, weights.len()], weights.to_vec()).unwrap();
        Some(op.eval(&[weights, Tensor::scalar(samples)]).ok()?[0].to_i64_vec().unwrap())
    }

    #[test]
    fn classes_are_drawn_in_proportion_to_their_weights() {
        assert_eq!(run(true, &[0.0, 3.0, 0.0], 4), Some(vec![1; 4]));
        let drawn = run(true, &[1.0, 3.0], 4000).unwrap();
        assert!((2850..3150).contains(&drawn.iter().sum::<i64>()));
    }

    #[test]
    fn without_replacement_each_class_is_drawn_once() {
        let mut drawn = run(false, &[1.0, 5.0, 2.0, 0.5], 4).unwrap();
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 1, 2, 3]);
        assert_eq!(run(false, &[1.0, 5.0], 3), None);
        assert_eq!(run(true, &[], 3), None);
    }
}
