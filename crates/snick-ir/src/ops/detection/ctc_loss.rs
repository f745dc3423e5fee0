//! CTCLoss-4.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, dims_of, expect_ranks};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Connectionist temporal classification loss.
    ///
    /// The negative logarithm of the probability of a label sequence. That probability is the sum over all
    /// alignments of the labels with the time steps. Inputs: class scores `[N, T, C]`, number of time steps
    /// `[N]`, labels `[N, T]`, number of labels `[N]`, and optionally the blank class, by default the last.
    /// Output: `[N]`.
    #[op("CTCLoss", since = [4], inputs = Arity::between(4, 5), category = Other, traits = [PURE])]
    pub struct CtcLoss {
        /// Whether to merge repeated labels before alignment.
        pub preprocess_collapse_repeated: bool = false,
        /// Whether to merge repeated classes in an alignment.
        pub ctc_merge_repeated: bool = false,
        /// Whether to drop all but the first occurrence of each label.
        pub unique: bool = false,
    }
}

impl InferOp for CtcLoss {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_real(0)?;
        (1..cx.len()).for_each(|port| cx.expect_integer(port));
        expect_ranks(cx, &[3, 1, 2, 1, 0])?;
        common_dim(cx, &[(0, 1), (2, 1)])?;
        let batch = common_dim(cx, &[(0, 0), (1, 0), (2, 0), (3, 0)])?;
        Ok(Facts::from(Fact::new(cx.element_type(0), Shape::ranked([batch]))))
    }
}

impl EvalOp for CtcLoss {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([scores, times, labels, counts], blank) = leading(inputs)?;
        let [batch, most, classes] = dims_of("the scores", scores)?;
        check_dims("the lengths", times, &[batch])?;
        check_dims("the labels", labels, &[batch, most])?;
        check_dims("the label lengths", counts, &[batch])?;
        let blank = match blank.first() {
            Some(blank) => blank.to_i64_vec()?.first().copied().unwrap_or(0),
            None => classes as i64 - 1,
        };
        let values = scores.to_f32_vec()?;
        let (times, labels, counts) = (times.to_i64_vec()?, labels.to_i64_vec()?, counts.to_i64_vec()?);
        let mut losses = Vec::with_capacity(batch);
        for (i, (&time, &count)) in times.iter().zip(&counts).enumerate() {
            let length = |value: i64, most: usize| usize::try_from(value).ok().filter(|&value| value <= most);
            let fits = length(time, most).and_then(|time| Some((time, length(count, time)?)));
            let Some((time, count)) = fits else {
                let found = format!("{count} labels in {time} time steps");
                let expected = format!("labels <= time steps <= {most}");
                return Err(OpError::mismatch("a sequence", found, expected));
            };
            let labels = labels.iter().skip(i * most).take(count).copied();
            let target = self.target(labels, blank, classes)?;
            let rows = values.chunks_exact(classes.max(1)).skip(i * most).take(time);
            let likely: Vec<Vec<f32>> = rows.map(|row| log_likely(row, &target)).collect();
            losses.push(-self.log_probability(&target, &likely));
        }
        Ok(vec![Tensor::from_vec(&[batch], losses)?.cast(scores.element_type())?])
    }
}

/// A class in the target sequence, and whether it is the blank.
#[derive(Copy, Clone, PartialEq)]
struct Symbol {
    class: usize,
    blank: bool,
}

impl CtcLoss {
    /// The labels after deduplication, with a blank before each label and after the last one.
    fn target(
        &self,
        labels: impl Iterator<Item = i64>,
        blank: i64,
        classes: usize,
    ) -> Result<Vec<Symbol>, OpError> {
        let symbol = |label: i64| {
            let class = usize::try_from(label).ok().filter(|&class| class < classes);
            let class =
                class.ok_or_else(|| OpError::out_of_range("a label", label, format!("below {classes}")))?;
            Ok::<_, OpError>(Symbol { class, blank: label == blank })
        };
        let mut kept: Vec<i64> = Vec::new();
        for label in labels {
            let dropped = match (self.unique, self.preprocess_collapse_repeated) {
                (true, _) => kept.contains(&label),
                (false, true) => kept.last() == Some(&label),
                (false, false) => false,
            };
            if !dropped {
                kept.push(label);
            }
        }
        let mut target = Vec::with_capacity(2 * kept.len() + 1);
        for label in kept {
            target.push(symbol(blank)?);
            target.push(symbol(label)?);
        }
        target.push(symbol(blank)?);
        Ok(target)
    }

    /// The log probability of the target, summed over all alignments, computed backwards from the last time
    /// step. `likely` holds the log probability of each symbol at each time step.
    fn log_probability(&self, target: &[Symbol], likely: &[Vec<f32>]) -> f32 {
        let at = |values: &[f32], i: usize| values.get(i).copied().unwrap_or(f32::NEG_INFINITY);
        // An alignment may end only with the last label or the blank after it.
        let mut rest: Vec<f32> = vec![f32::NEG_INFINITY; target.len()];
        rest.iter_mut().rev().take(2).for_each(|value| *value = 0.0);
        for likely in likely.iter().skip(1).rev() {
            let stay = |s: usize| at(&rest, s) + at(likely, s);
            rest = (0..target.len())
                .map(|s| {
                    let symbol = target.get(s);
                    let blank = symbol.is_some_and(|symbol| symbol.blank);
                    let mut sum = stay(s + 1);
                    if self.ctc_merge_repeated || blank {
                        sum = log_add(stay(s), sum);
                    }
                    // Consecutive labels need no blank between them unless they would be merged.
                    let merges = self.ctc_merge_repeated && target.get(s + 2) == symbol;
                    if !blank && !merges {
                        sum = log_add(sum, stay(s + 2));
                    }
                    sum
                })
                .collect();
        }
        let Some(first) = likely.first() else { return at(&rest, 0) };
        log_add(at(&rest, 0) + at(first, 0), at(&rest, 1) + at(first, 1))
    }
}

/// The log probability of each symbol: a log-softmax over the classes.
fn log_likely(scores: &[f32], target: &[Symbol]) -> Vec<f32> {
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|score| f64::from(score - greatest).exp()).sum();
    let total = greatest + sum.ln() as f32;
    target.iter().map(|symbol| scores.get(symbol.class).map_or(f32::NEG_INFINITY, |v| v - total)).collect()
}

/// `ln(exp(a) + exp(b))`
fn log_add(a: f32, b: f32) -> f32 {
    let (less, more) = if a < b { (a, b) } else { (b, a) };
    if less == f32::NEG_INFINITY { more } else { more + (less - more).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_sums_over_alignments() {
        let op = CtcLoss { preprocess_collapse_repeated: false, ctc_merge_repeated: true, unique: false };
        // Two time steps with two equally probable classes, the label and the blank: three of the four paths
        // produce the label.
        let scores = Tensor::from_vec(&[1, 2, 2], vec![0f32; 4]).unwrap();
        let two = Tensor::from_vec(&[1], vec![2i32]).unwrap();
        let labels = Tensor::from_vec(&[1, 2], vec![0i32, 0]).unwrap();
        let one = Tensor::from_vec(&[1], vec![1i32]).unwrap();
        let loss = op.eval(&[scores.clone(), two.clone(), labels.clone(), one]).unwrap();
        assert!((loss[0].to_f32_vec().unwrap()[0] + 0.75f32.ln()).abs() < 1e-6);
        // The repeated label needs a blank in between, for which there is no time step.
        let loss = op.eval(&[scores, two.clone(), labels, two]).unwrap();
        assert_eq!(loss[0].to_f32_vec().unwrap(), [f32::INFINITY]);
    }
}
