//! Einsum-7, the Einstein summation.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, ReduceOp};
use snick_tensor::{Dims, SmallVector, Tensor};

use crate::attrs::missing;
use crate::ops::elementwise::domain::Domain;
use crate::{
    Arity, AttrField, AttrSpec, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpDef, OpError,
    OpName, RawNode,
};

/// Sums of products over named axes, as in `a,ab->b`. Each letter names an axis of an operand; axes with the
/// same name must agree. Letters missing from the output are summed over; `...` stands for broadcast axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Einsum {
    /// The equation, as written in the file.
    pub equation: String,
    inputs: Vec<Subscript>,
    output: Subscript,
}

/// The axis labels of an operand. The label of a letter is its code point; the label of an ellipsis axis is
/// `ELLIPSIS` plus its distance from the last ellipsis axis.
pub type Labels = SmallVector<u32, 6>;

/// The label of the last ellipsis axis, greater than every code point.
const ELLIPSIS: u32 = 0x11_0000;

/// The letters before and after an ellipsis; `after` is `None` without an ellipsis.
#[derive(Clone, PartialEq, Debug)]
struct Subscript {
    before: Labels,
    after: Option<Labels>,
}

impl OpDef for Einsum {
    const NAMES: &'static [OpName] =
        &[OpName::openvino("Einsum", &[7], Category::Product).doc("Sums of products over named axes.")];
    const ARITY: Arity = Arity::at_least(1);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let equation = raw.attrs.text("equation")?.ok_or(missing("equation"))?.to_string();
        match parse(&equation) {
            Some((inputs, output)) => Ok(Self { equation, inputs, output }),
            None => Err(raw.attrs.bad("equation", "letters and `...`, as in \"...ij,jk->...ik\"")),
        }
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("equation", self.equation.clone())
    }

    fn attr_specs() -> Vec<AttrSpec> {
        let doc = "One letter per axis: `a,ab->b`; `...` stands for broadcast axes.";
        vec![AttrSpec::required("equation", String::kind(), doc)]
    }
}

impl InferOp for Einsum {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.check_count(cx.len())?;
        let element_type = cx.common_type(0..cx.len());
        Domain::Number.check("the inputs", element_type).map_or_else(|error| cx.report(error), drop);
        let mut dims: BTreeMap<u32, SymExpr> = BTreeMap::new();
        let mut ellipsis = Some(0);
        for (i, subscript) in self.inputs.iter().enumerate() {
            let Some(axes) = cx.shape(i).dims() else {
                ellipsis = ellipsis.filter(|_| subscript.after.is_none());
                continue;
            };
            let labels = subscript.labels(i, axes.len())?;
            ellipsis = ellipsis.map(|n| labels.iter().filter(|&&l| l >= ELLIPSIS).count().max(n));
            for (label, dim) in labels.iter().zip(axes) {
                let both = match dims.get(label) {
                    Some(known) => cx
                        .broadcast_dim(known, dim)
                        .ok_or_else(|| sizes_differ(*label, cx.interval(known), cx.interval(dim)))?,
                    None => dim.clone(),
                };
                dims.insert(*label, both);
            }
        }
        // An operand of unknown rank may broadcast an axis that has size 1 in the other operands.
        for (i, subscript) in self.inputs.iter().enumerate() {
            if cx.shape(i).dims().is_some() {
                continue;
            }
            for label in subscript.before.iter().chain(subscript.after.iter().flatten()) {
                let known = dims.get(label).map(|dim| cx.interval(dim));
                if known.is_none_or(|interval| interval.contains(1)) {
                    let unknown = cx.unknown(Interval::DIM);
                    dims.insert(*label, unknown);
                }
            }
        }
        let shape = match (ellipsis, &self.output.after) {
            (None, Some(_)) => Shape::unranked(),
            (count, _) => {
                let rank =
                    self.output.letters() + count.unwrap_or(0) * usize::from(self.output.after.is_some());
                let labels = self.output.labels(0, rank)?;
                let mut axes: SmallVector<SymExpr, 4> = SmallVector::new();
                for label in &labels {
                    let dim = dims.get(label).cloned();
                    axes.push(dim.unwrap_or_else(|| cx.unknown(Interval::DIM)));
                }
                Shape::ranked(axes)
            }
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        // Equations without an arrow, whose output axes are implicit, have no cost estimate.
        if !self.equation.contains("->") {
            return None;
        }
        let inputs: Vec<&[SymExpr]> = inputs.iter().map(|input| input.shape.dims()).collect::<Option<_>>()?;
        let ranks: Vec<usize> = inputs.iter().map(|dims| dims.len()).collect();
        let (labels, mut seen) = self.labels(&ranks).ok()?;
        let axes = labels.iter().flatten().zip(inputs.into_iter().flatten());
        let mut summed = Vec::new();
        for (&label, dim) in axes {
            if !seen.contains(&label) {
                seen.push(label);
                summed.push(dim.clone());
            }
        }
        OpCost::multiply_adds(output, &summed)
    }
}

impl EvalOp for Einsum {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.check_count(inputs.len())?;
        let mut operands = Vec::with_capacity(inputs.len());
        let mut ellipsis = 0;
        let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
        for (i, (tensor, subscript)) in inputs.iter().zip(&self.inputs).enumerate() {
            let labels = subscript.labels(i, tensor.rank())?;
            ellipsis = labels.iter().filter(|&&l| l >= ELLIPSIS).count().max(ellipsis);
            for (&label, &dim) in labels.iter().zip(tensor.dims()) {
                let size = sizes.entry(label).or_insert(dim);
                if *size == 1 {
                    *size = dim;
                } else if dim != 1 && dim != *size {
                    return Err(sizes_differ(label, size, dim));
                }
            }
            operands.push(Operand { tensor: tensor.clone(), labels }.diagonals()?);
        }
        let extra = ellipsis * usize::from(self.output.after.is_some());
        let output = self.output.labels(0, self.output.letters() + extra)?;
        let mut rest = operands.into_iter();
        let mut product = rest.next().ok_or(OpError::NotConnected { port: 0 })?;
        while let Some(next) = rest.next() {
            let later: Labels = rest.as_slice().iter().flat_map(|o| o.labels.iter().copied()).collect();
            let kept = |label: &u32| output.contains(label) || later.contains(label);
            product = product.times(next, kept)?;
        }
        let product = product.summed(|label| output.contains(label))?;
        let dims: Dims = output.iter().map(|label| sizes.get(label).copied().unwrap_or(1)).collect();
        Ok(vec![product.arranged(&output)?.broadcast_to(&dims)?])
    }
}

impl Einsum {
    fn check_count(&self, got: usize) -> Result<(), OpError> {
        if got == self.inputs.len() {
            return Ok(());
        }
        Err(OpError::Arity { expected: format!("{} as the equation says", self.inputs.len()), got })
    }
}

impl Subscript {
    fn letters(&self) -> usize {
        self.before.len() + self.after.as_ref().map_or(0, |after| after.len())
    }

    /// The labels of an operand with `rank` axes.
    fn labels(&self, operand: usize, rank: usize) -> Result<Labels, OpError> {
        let letters = self.letters();
        if rank < letters || (self.after.is_none() && rank != letters) {
            let or_more = if self.after.is_some() { " or more" } else { "" };
            return Err(OpError::rank(format!("operand {operand}"), rank, format!("{letters}{or_more}")));
        }
        let mut labels = self.before.clone();
        let count = u32::try_from(rank - letters).unwrap_or(u32::MAX);
        labels.extend((0..count).rev().map(|i| ELLIPSIS.saturating_add(i)));
        labels.extend(self.after.iter().flatten().copied());
        Ok(labels)
    }
}

impl Einsum {
    /// The labels of the output and of operands with these ranks. Axes with equal labels have the same size,
    /// up to broadcasting.
    ///
    /// # Errors
    /// If the equation does not match the ranks.
    pub fn labels(&self, ranks: &[usize]) -> Result<(Vec<Labels>, Labels), OpError> {
        self.check_count(ranks.len())?;
        let own = self.inputs.iter().zip(ranks).enumerate();
        let inputs: Vec<Labels> =
            own.map(|(i, (subscript, &rank))| subscript.labels(i, rank)).collect::<Result<_, _>>()?;
        let ellipsis = inputs.iter().map(|labels| labels.iter().filter(|&&l| l >= ELLIPSIS).count()).max();
        let extra = if self.output.after.is_some() { ellipsis.unwrap_or(0) } else { 0 };
        let output = self.output.labels(0, self.output.letters() + extra)?;
        Ok((inputs, output))
    }

    /// For each operand, where to insert axes of size 1 so that all ellipses cover the same number of axes.
    pub fn absent_axes(&self, ranks: &[usize]) -> impl Iterator<Item = Range<usize>> {
        let hidden = |(subscript, &rank): (&Subscript, &usize)| {
            subscript.after.as_ref().map_or(0, |_| rank.saturating_sub(subscript.letters()))
        };
        let most = self.inputs.iter().zip(ranks).map(hidden).max().unwrap_or(0);
        self.inputs.iter().zip(ranks).map(move |(subscript, rank)| {
            let absent = subscript.after.as_ref().map_or(0, |_| most - hidden((subscript, rank)));
            subscript.before.len()..subscript.before.len() + absent
        })
    }
}

/// A tensor with labelled axes.
struct Operand {
    tensor: Tensor,
    labels: Labels,
}

impl Operand {
    /// Takes the diagonal over axes that share a label.
    fn diagonals(mut self) -> Result<Self, OpError> {
        while let Some((i, j)) = twice(&self.labels) {
            let (a, b) = (self.tensor.dims()[i], self.tensor.dims()[j]);
            if a == 1 || b == 1 {
                let (gone, stays) = if a == 1 { (i, j) } else { (j, i) };
                debug_assert_ne!(gone, stays);
                self.tensor = self.tensor.squeeze(gone)?;
                self.labels.remove(gone);
                continue;
            }
            let mut order: Dims = (0..self.labels.len()).filter(|&k| k != i && k != j).collect();
            let mut dims: Dims = order.iter().map(|&k| self.tensor.dims()[k]).collect();
            let mut labels: Labels = order.iter().map(|&k| self.labels[k]).collect();
            order.extend([i, j]);
            dims.push(a.saturating_mul(b));
            labels.push(self.labels[i]);
            let flat = self.tensor.permute(&order)?.reshape(&dims)?;
            self.tensor = flat.slice(dims.len() - 1, 0, a, a as isize + 1)?;
            self.labels = labels;
        }
        Ok(self)
    }

    /// Sums over the axes that are not `kept`.
    fn summed(mut self, kept: impl Fn(&u32) -> bool) -> Result<Self, OpError> {
        let axes: Dims = (0..self.labels.len()).filter(|&i| !kept(&self.labels[i])).collect();
        if !axes.is_empty() {
            self.tensor = ReduceOp::Sum.apply(&self.tensor, &axes, false)?;
            self.labels.retain(|label| kept(label));
        }
        Ok(self)
    }

    /// Removes axes of size 1 whose label has another size in `other`.
    fn without_ones(mut self, other: &[(u32, usize)]) -> Result<Self, OpError> {
        for i in (0..self.labels.len()).rev() {
            let label = self.labels[i];
            if self.tensor.dims()[i] == 1 && other.iter().any(|&(l, d)| l == label && d != 1) {
                self.tensor = self.tensor.squeeze(i)?;
                self.labels.remove(i);
            }
        }
        Ok(self)
    }

    fn sizes(&self) -> Vec<(u32, usize)> {
        self.labels.iter().copied().zip(self.tensor.dims().iter().copied()).collect()
    }

    /// Permutes the axes to the order of `labels`, inserting axes of size 1.
    fn arranged(&self, labels: &[u32]) -> Result<Tensor, OpError> {
        let order: Dims = labels.iter().filter_map(|l| self.labels.iter().position(|m| m == l)).collect();
        let mut tensor = self.tensor.permute(&order)?;
        for (at, label) in labels.iter().enumerate() {
            if !self.labels.contains(label) {
                tensor = tensor.unsqueeze(at)?;
            }
        }
        Ok(tensor)
    }

    /// The product of two operands, summed over the labels that are not `kept`, as one matrix multiplication.
    fn times(self, other: Self, kept: impl Fn(&u32) -> bool) -> Result<Self, OpError> {
        let (mine, theirs) = (self.sizes(), other.sizes());
        let a = self.without_ones(&theirs)?;
        let b = other.without_ones(&mine)?;
        let (in_a, in_b) = (a.labels.clone(), b.labels.clone());
        let a = a.summed(|label| kept(label) || in_b.contains(label))?;
        let b = b.summed(|label| kept(label) || in_a.contains(label))?;
        let pick = |labels: &Labels, other: &Labels, shared: bool, keep: bool| -> Labels {
            let fits = |l: &&u32| other.contains(l) == shared && (!shared || kept(l) == keep);
            labels.iter().filter(fits).copied().collect()
        };
        let batch = pick(&a.labels, &b.labels, true, true);
        let inner = pick(&a.labels, &b.labels, true, false);
        let rows = pick(&a.labels, &b.labels, false, true);
        let columns = pick(&b.labels, &a.labels, false, true);
        let size = |operand: &Self, labels: &Labels| -> Dims {
            let sizes = operand.sizes();
            labels.iter().filter_map(|l| sizes.iter().find(|(m, _)| m == l).map(|&(_, d)| d)).collect()
        };
        let (batch_dims, row_dims, column_dims) = (size(&a, &batch), size(&a, &rows), size(&b, &columns));
        let volume = |dims: &Dims| -> Result<usize, OpError> {
            let product = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            product.ok_or_else(|| OpError::unsupported("a product of this size"))
        };
        let (n, m, k, l) =
            (volume(&batch_dims)?, volume(&row_dims)?, volume(&size(&a, &inner))?, volume(&column_dims)?);
        let left: Labels = batch.iter().chain(&rows).chain(&inner).copied().collect();
        let right: Labels = batch.iter().chain(&inner).chain(&columns).copied().collect();
        let left = a.arranged(&left)?.reshape(&[n, m, k])?;
        let right = b.arranged(&right)?.reshape(&[n, k, l])?;
        let dims: Dims = batch_dims.iter().chain(&row_dims).chain(&column_dims).copied().collect();
        let tensor = kernels::matmul(&left, &right, false, false)?.reshape(&dims)?;
        let labels = batch.iter().chain(&rows).chain(&columns).copied().collect();
        Ok(Self { tensor, labels })
    }
}

/// The first pair of axes with the same label.
fn twice(labels: &[u32]) -> Option<(usize, usize)> {
    labels.iter().enumerate().find_map(|(j, label)| Some((labels[..j].iter().position(|l| l == label)?, j)))
}

/// The error for an axis with two sizes.
fn sizes_differ(label: u32, left: impl Display, right: impl Display) -> OpError {
    OpError::conflict(format!("axis {} has sizes {{}} and {{}}", name(label)), left, right)
}

/// The label as shown in messages.
fn name(label: u32) -> String {
    char::from_u32(label).map_or_else(|| "...".to_string(), |letter| format!("`{letter}`"))
}

/// Parses an equation; `None` if it is invalid.
fn parse(equation: &str) -> Option<(Vec<Subscript>, Subscript)> {
    let text: String = equation.chars().filter(|c| *c != ' ').collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (text.as_str(), None),
    };
    let inputs = left.split(',').map(subscript).collect::<Option<Vec<_>>>()?;
    let letters: Vec<u32> =
        inputs.iter().flat_map(|s| s.before.iter().chain(s.after.iter().flatten()).copied()).collect();
    let ellipsis = inputs.iter().any(|s| s.after.is_some());
    let output = match right {
        Some(text) => subscript(text)?,
        None => {
            // Without `->`, the output has the letters that occur once, in alphabetical order, after the
            // ellipsis.
            let mut once: Labels = letters.iter().copied().collect();
            once.retain(|l| letters.iter().filter(|m| *m == l).count() == 1);
            once.sort_unstable();
            match ellipsis {
                true => Subscript { before: Labels::new(), after: Some(once) },
                false => Subscript { before: once, after: None },
            }
        }
    };
    let all: Labels = output.before.iter().chain(output.after.iter().flatten()).copied().collect();
    let known = all.iter().all(|l| letters.contains(l)) && twice(&all).is_none();
    (known && (ellipsis || output.after.is_none())).then_some((inputs, output))
}

fn subscript(text: &str) -> Option<Subscript> {
    let letters = |text: &str| -> Option<Labels> {
        text.chars().map(|c| c.is_ascii_alphabetic().then_some(u32::from(c))).collect()
    };
    match text.split_once("...") {
        Some((before, after)) => Some(Subscript { before: letters(before)?, after: Some(letters(after)?) }),
        None => Some(Subscript { before: letters(text)?, after: None }),
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::ElementType;

    use super::*;

    fn run(equation: &str, inputs: &[(&[usize], &[f32])]) -> (Vec<usize>, Vec<f32>) {
        let (operands, output) = parse(equation).unwrap();
        let op = Einsum { equation: equation.to_string(), inputs: operands, output };
        let inputs: Vec<Tensor> =
            inputs.iter().map(|(dims, values)| Tensor::from_vec(dims, values.to_vec()).unwrap()).collect();
        let out = op.eval(&inputs).unwrap().remove(0);
        assert_eq!(out.element_type(), ElementType::F32);
        (out.dims().to_vec(), out.to_f32_vec().unwrap())
    }

    #[test]
    fn products_diagonals_and_broadcasts() {
        let m: (&[usize], &[f32]) = (&[2, 2], &[1., 2., 3., 4.]);
        assert_eq!(run("ij,jk", &[m, m]), (vec![2, 2], vec![7., 10., 15., 22.]));
        assert_eq!(run("ii->i", &[m]), (vec![2], vec![1., 4.]));
        assert_eq!(run("ij->ji", &[m]), (vec![2, 2], vec![1., 3., 2., 4.]));
        assert_eq!(run("i,j->ij", &[(&[2], &[1., 2.]), (&[1], &[3.])]), (vec![2, 1], vec![3., 6.]));
        assert_eq!(run("...j,j->...", &[m, (&[2], &[1., 10.])]), (vec![2], vec![21., 43.]));
        assert_eq!(run("a,ab,ab->a", &[(&[2], &[1., 2.]), m, m]), (vec![2], vec![5., 50.]));
        assert_eq!(run("ij->", &[m]), (vec![], vec![10.]));
        assert!(parse("ij->k").is_none() && parse("i1->i").is_none() && parse("i->ii").is_none());
    }
}
