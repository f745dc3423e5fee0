//! Functions of elements one after the other, in one pass over memory.
//!
//! Each block of elements goes through all functions while it is in the innermost cache, and the result takes the place
//! of the first input if nobody else has it. Every element is computed as by the functions one at a time.

use smallvec::SmallVec;

use super::binary::with_function;
use super::unary::UnaryOp;
use super::vector_unary::Apply;
use super::{BinaryOp, vector_unary};
use crate::buffer::Buffer;
use crate::kernels::broadcast::{Run, Strided, merge};
use crate::kernels::vectors::{Instructions, Vectorised, widest};
use crate::layout::{Layout, Offsets, Strides};
use crate::{ElementType, Tensor, TensorError};

/// Elements in a block: two fit into the innermost cache, with as many of the other inputs.
const BLOCK: usize = 1024;

/// A function of elements.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum ElementFunction {
    /// Of one.
    Unary(UnaryOp),
    /// Of two, numpy's rule bringing them together.
    Binary(BinaryOp),
}

impl ElementFunction {
    /// Whether [`Stage`]s have it: of the others each element depends on more than its inputs, or goes by itself.
    pub fn chains(self) -> bool {
        match self {
            Self::Unary(op) => vector_unary::apply(op, &[], &mut []),
            // How remainders are computed depends on all elements.
            Self::Binary(op) => !matches!(op, BinaryOp::Mod | BinaryOp::FloorMod),
        }
    }
}

/// A function of what the one before it gave, or of the first input.
#[derive(Copy, Clone, Debug)]
pub enum Stage<'a> {
    /// A function of that alone.
    Unary(UnaryOp),
    /// A function of that and a second input.
    Binary(BinaryOp, StageOperand<'a>),
}

/// The other input of a function of two.
#[derive(Copy, Clone, Debug)]
pub enum StageOperand<'a> {
    /// The function's second input; it broadcasts to the first.
    Right(&'a Tensor),
    /// The function's first input; it broadcasts to the second.
    Left(&'a Tensor),
    /// The function of a value and itself.
    Same,
}

/// A way to take functions in one pass.
pub struct FusedElementwise<'a> {
    links: &'a [Stage<'a>],
    /// The other inputs, walked as the first.
    others: SmallVec<[Strided<'a, f32>; 4]>,
}

impl<'a> FusedElementwise<'a> {
    /// The functions of `x`, each of what the one before gave; `None` if that is more than a pass over `x`: the others
    /// are larger, or something is not `f32`, or a function does not [chain](ElementFunction::chains).
    pub fn new(x: &Tensor, links: &'a [Stage<'a>]) -> Option<Self> {
        let is_real = |tensor: &Tensor| tensor.element_type() == ElementType::F32;
        let mut others = SmallVec::new();
        for link in links {
            let function = match *link {
                Stage::Unary(op) => ElementFunction::Unary(op),
                Stage::Binary(op, second) => {
                    if let StageOperand::Left(other) | StageOperand::Right(other) = second {
                        others.push(Strided::broadcast(other, x.dims()).ok().filter(|_| is_real(other))?);
                    }
                    ElementFunction::Binary(op)
                }
            };
            if !function.chains() {
                return None;
            }
        }
        is_real(x).then_some(Self { links, others })
    }

    /// The last function's values, of the dims of `x`, which is the tensor the chain was made for.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub fn run(&self, mut x: Tensor) -> Result<Tensor, TensorError> {
        let layout = Layout::packed(x.dims());
        if let Some(values) = x.exclusive::<f32>() {
            widest(Pass { chain: self, from: None, layout, to: values });
            return Ok(x);
        }
        let mut out = Buffer::any(x.len())?;
        let from = Strided::<f32>::new(&x);
        widest(Pass { chain: self, from: Some(&from), layout: from.layout.clone(), to: &mut out });
        Tensor::from_buffer(ElementType::F32, x.dims(), out)
    }
}

/// A pass over the first input.
struct Pass<'a, 't> {
    chain: &'t FusedElementwise<'a>,
    /// The first input; `None` if it lies where the result goes.
    from: Option<&'t Strided<'t, f32>>,
    /// Its layout.
    layout: Layout,
    to: &'t mut [f32],
}

impl Vectorised for Pass<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { chain, from, layout, to } = self;
        if to.is_empty() {
            return;
        }
        let layouts: SmallVec<[&Layout; 5]> =
            std::iter::once(&layout).chain(chain.others.iter().map(|other| &other.layout)).collect();
        let mut strides: SmallVec<[Strides; 5]> = SmallVec::from_elem(Strides::new(), layouts.len());
        let mut dims = merge(&layouts, &mut strides);
        let len = dims.pop().unwrap_or(1);
        let steps: SmallVec<[isize; 5]> =
            strides.iter_mut().map(|strides| strides.pop().unwrap_or(0)).collect();
        let mut offsets: SmallVec<[Offsets; 5]> = layouts
            .iter()
            .zip(&strides)
            .map(|(layout, strides)| Offsets::new(&dims, strides, layout.start))
            .collect();
        let mut starts: SmallVec<[usize; 5]> = SmallVec::from_elem(0, layouts.len());
        let (mut one, mut two) = ([0.0; BLOCK], [0.0; BLOCK]);
        for run in to.chunks_mut(len) {
            for (start, offsets) in starts.iter_mut().zip(&mut offsets) {
                *start = offsets.next().unwrap_or_default();
            }
            for (n, piece) in run.chunks_mut(BLOCK).enumerate() {
                let (mut values, mut spare) = (&mut one[..piece.len()], &mut two[..piece.len()]);
                match from {
                    Some(from) => from.run(starts[0], steps[0]).every(1, n * BLOCK).copy_to(values),
                    None => values.copy_from_slice(piece),
                }
                let mut others = chain.others.iter().zip(&starts[1..]).zip(&steps[1..]);
                let mut other = || {
                    let ((other, &start), &step) = others.next()?;
                    Some(other.run(start, step).every(1, n * BLOCK))
                };
                for link in chain.links {
                    match *link {
                        Stage::Unary(op) => {
                            Apply { op, from: values, to: spare }.run::<I>();
                            std::mem::swap(&mut values, &mut spare);
                        }
                        Stage::Binary(op, StageOperand::Same) => with_function!(op, f32, f => {
                            values.iter_mut().for_each(|x| *x = f(*x, *x));
                        }),
                        Stage::Binary(op, StageOperand::Right(_)) => {
                            if let Some(other) = other() {
                                with_function!(op, f32, f => pairs(values, other, f));
                            }
                        }
                        Stage::Binary(op, StageOperand::Left(_)) => {
                            if let Some(other) = other() {
                                with_function!(op, f32, f => pairs(values, other, |x, y| f(y, x)));
                            }
                        }
                    }
                }
                piece.copy_from_slice(values);
            }
        }
    }
}

/// Puts `f` of each value and its other input in its place.
#[inline(always)]
fn pairs(values: &mut [f32], other: Run<f32>, f: impl Fn(f32, f32) -> f32) {
    match (other.constant(), other.slice(values.len())) {
        (Some(y), _) => {
            for x in values {
                *x = f(*x, y);
            }
        }
        (_, Some(other)) => {
            for (x, &y) in values.iter_mut().zip(other) {
                *x = f(*x, y);
            }
        }
        _ => {
            for (i, x) in values.iter_mut().enumerate() {
                *x = f(*x, other.get(i));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNARY: [UnaryOp; 6] = [
        UnaryOp::Relu,
        UnaryOp::Tanh,
        UnaryOp::Sigmoid,
        UnaryOp::Negative,
        UnaryOp::Clamp { min: -0.5, max: 0.75 },
        UnaryOp::Exp,
    ];

    const BINARY: [BinaryOp; 7] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Max,
        BinaryOp::PRelu,
        BinaryOp::SquaredDifference,
    ];

    fn tensor(dims: &[usize]) -> Tensor {
        let len: usize = dims.iter().product();
        Tensor::from_vec(dims, (0..len).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect()).unwrap()
    }

    /// The same, one function at a time.
    fn one_by_one(x: &Tensor, links: &[Stage]) -> Tensor {
        let mut value = x.clone();
        for link in links {
            let next = match *link {
                Stage::Unary(op) => op.apply(&value),
                Stage::Binary(op, StageOperand::Right(other)) => op.apply(&value, other),
                Stage::Binary(op, StageOperand::Left(other)) => op.apply(other, &value),
                Stage::Binary(op, StageOperand::Same) => op.apply(&value, &value),
            };
            value = next.unwrap();
        }
        value
    }

    fn check(x: &Tensor, links: &[Stage]) {
        let expected = one_by_one(x, links);
        let chain = FusedElementwise::new(x, links).unwrap();
        assert_eq!(chain.run(x.clone()).unwrap(), expected, "{links:?}");
        // A copy that nobody else has is written over.
        let own = UnaryOp::Negative.apply(&UnaryOp::Negative.apply(x).unwrap()).unwrap();
        let place = own.storage().bytes().as_ptr();
        let found = chain.run(own).unwrap();
        assert_eq!(found, expected, "{links:?}");
        assert_eq!(found.storage().bytes().as_ptr(), place);
    }

    #[test]
    fn a_chain_gives_what_its_functions_give() {
        for dims in [&[2usize, 3, 40][..], &[7], &[], &[2, 1, 1300], &[3, 0]] {
            let x = tensor(dims);
            let mut others = vec![tensor(dims), Tensor::scalar(0.5f32)];
            if let [rows, columns, last] = *dims {
                others.extend([tensor(&[last]), tensor(&[rows, columns, 1]), tensor(&[columns, 1])]);
                others.push(tensor(&[last, columns]).transposed());
            }
            for (i, other) in others.iter().enumerate() {
                for (j, binary) in BINARY.into_iter().enumerate() {
                    let unary = UNARY[(i + j) % UNARY.len()];
                    check(&x, &[Stage::Binary(binary, StageOperand::Right(other)), Stage::Unary(unary)]);
                    check(&x, &[Stage::Unary(unary), Stage::Binary(binary, StageOperand::Left(other))]);
                    let last = others.last().unwrap();
                    let all = [
                        Stage::Binary(binary, StageOperand::Same),
                        Stage::Binary(BinaryOp::Mul, StageOperand::Left(other)),
                        Stage::Unary(unary),
                        Stage::Binary(BinaryOp::Add, StageOperand::Right(last)),
                    ];
                    check(&x, &all);
                }
            }
        }
    }

    #[test]
    fn views_are_read_where_they_lie() {
        let x = tensor(&[4, 60, 50]).slice(1, 59, 20, -3).unwrap().permute(&[0, 2, 1]).unwrap();
        let other = tensor(&[50, 1]);
        let links = [Stage::Binary(BinaryOp::Add, StageOperand::Right(&other)), Stage::Unary(UnaryOp::Tanh)];
        assert_eq!(
            FusedElementwise::new(&x, &links).unwrap().run(x.clone()).unwrap(),
            one_by_one(&x, &links)
        );
    }

    #[test]
    fn what_is_no_single_pass_is_no_chain() {
        let x = tensor(&[2, 1]);
        let (wide, double) = (tensor(&[2, 3]), Tensor::scalar(1.0f64));
        let add = |other| [Stage::Binary(BinaryOp::Add, StageOperand::Right(other))];
        assert!(FusedElementwise::new(&x, &add(&x)).is_some());
        assert!(FusedElementwise::new(&x, &add(&wide)).is_none());
        assert!(FusedElementwise::new(&x, &add(&double)).is_none());
        assert!(FusedElementwise::new(&double, &[Stage::Unary(UnaryOp::Relu)]).is_none());
        assert!(FusedElementwise::new(&x, &[Stage::Unary(UnaryOp::Sin)]).is_none());
        assert!(
            FusedElementwise::new(&x, &[Stage::Binary(BinaryOp::Mod, StageOperand::Right(&x))]).is_none()
        );
    }

    #[test]
    fn what_others_have_stays() {
        let x = UnaryOp::Negative.apply(&tensor(&[5])).unwrap();
        let (kept, before) = (x.clone(), x.to_f32_vec().unwrap());
        FusedElementwise::new(&x, &[Stage::Unary(UnaryOp::Relu)]).unwrap().run(x).unwrap();
        assert_eq!(kept.to_f32_vec().unwrap(), before);
    }
}
