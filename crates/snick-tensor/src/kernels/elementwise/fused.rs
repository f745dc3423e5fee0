//! Fused element-wise functions: one pass over memory for several of them.
//!
//! **Loop nest**, outer to inner: parts; blocks; stages; elements. A block stays in the L1 cache for all
//! stages. The result overwrites the first input if nothing else owns it. The results are bit-identical to
//! applying one function at a time.
//!
//! **Threads.** Each thread computes some parts, with its own readers of the inputs.

use super::BinaryOp;
use super::binary::with_fusable;
use super::unary_op::UnaryOp;
use super::vector_unary::{self, Apply, Elements as _};
use crate::buffer::Buffer;
use crate::kernels::broadcast::Strided;
use crate::kernels::row_reader::{self, BLOCK, BlockSizes, Piece, RowReader};
use crate::kernels::vectors::{Instructions, Vectorised, dispatch_best};
use crate::{ElementType, SmallVector, Tensor, TensorError};

/// An element-wise function.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum ElementFunction {
    /// A function of one input.
    Unary(UnaryOp),
    /// A function of two inputs, which broadcast by numpy's rule.
    Binary(BinaryOp),
}

impl ElementFunction {
    /// Whether the function can be a [`Stage`]: it has a vector form, and an element of the result depends
    /// only on the inputs at the same position.
    pub fn is_fusable(self) -> bool {
        match self {
            Self::Unary(op) => vector_unary::apply(op, &[], &mut []),
            // Remainders choose their algorithm by looking at all elements.
            Self::Binary(op) => !matches!(op, BinaryOp::Mod | BinaryOp::FloorMod),
        }
    }
}

/// A function of the current value: the first input, or the result of the previous stage. `T` is the other
/// input of a binary function, which broadcasts to the value.
#[derive(Copy, Clone, Debug)]
pub enum Stage<T> {
    /// `f(value)`
    Unary(UnaryOp),
    /// `f(value, other)`
    Right(BinaryOp, T),
    /// `f(other, value)`
    Left(BinaryOp, T),
    /// `f(value, value)`
    Same(BinaryOp),
}

impl<T> Stage<T> {
    /// Maps the other input.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Stage<U> {
        match self {
            Self::Unary(op) => Stage::Unary(op),
            Self::Right(op, other) => Stage::Right(op, of(other)),
            Self::Left(op, other) => Stage::Left(op, of(other)),
            Self::Same(op) => Stage::Same(op),
        }
    }

    fn function(&self) -> ElementFunction {
        match *self {
            Self::Unary(op) => ElementFunction::Unary(op),
            Self::Right(op, _) | Self::Left(op, _) | Self::Same(op) => ElementFunction::Binary(op),
        }
    }

    fn other(&self) -> Option<&T> {
        match self {
            Self::Right(_, other) | Self::Left(_, other) => Some(other),
            Self::Unary(_) | Self::Same(_) => None,
        }
    }
}

impl Stage<&Tensor> {
    /// Applies the function alone, to any shapes that broadcast.
    ///
    /// # Errors
    /// Same as [`UnaryOp::apply`] and [`BinaryOp::apply`].
    pub fn apply(self, value: &Tensor) -> Result<Tensor, TensorError> {
        match self {
            Self::Unary(op) => op.apply(value),
            Self::Right(op, other) => op.apply(value, other),
            Self::Left(op, other) => op.apply(other, value),
            Self::Same(op) => op.apply(value, value),
        }
    }
}

/// Stages that one pass can compute.
pub struct FusedElementwise<'a> {
    stages: &'a [Stage<&'a Tensor>],
    /// The other inputs, broadcast to the first.
    others: SmallVector<Strided<'a, f32>, 4>,
}

impl<'a> FusedElementwise<'a> {
    /// Fuses stages. The first stage reads `x`. `None` if one pass over `x` cannot compute them: another
    /// input is larger, an input is not `f32`, or a function is not [fusable](ElementFunction::is_fusable).
    pub fn new(x: &Tensor, stages: &'a [Stage<&'a Tensor>]) -> Option<Self> {
        Self::of_dims(x.dims(), stages).filter(|_| is_f32(x))
    }

    /// As [`FusedElementwise::new`], for `f32` values that are not computed yet.
    pub(crate) fn of_dims(dims: &[usize], stages: &'a [Stage<&'a Tensor>]) -> Option<Self> {
        let mut others = SmallVector::new();
        for other in stages.iter().filter_map(Stage::other) {
            others.push(Strided::collapsed(other, dims).ok().filter(|_| is_f32(other))?);
        }
        stages.iter().all(|stage| stage.function().is_fusable()).then_some(Self { stages, others })
    }

    /// Whether the stages can be applied to pieces of rows of this length: each other input must be
    /// contiguous or constant along a row.
    pub(crate) fn has_rows_of(&self, len: usize) -> bool {
        self.others.iter().all(|other| {
            let [last, step] = last_axis(other);
            matches!(step, 0 | 1) && last % len as isize == 0
        })
    }

    /// Applies the stages in place to a piece of a row that starts at element `first`.
    pub(crate) fn on_piece(&self, first: usize, values: &mut [f32]) {
        let starts: SmallVector<_, 4> =
            self.others.iter().map(|other| other.layout.offset_of(first)).collect();
        for (i, values) in values.chunks_mut(BLOCK).enumerate() {
            let others = self.others.iter().zip(&starts).map(|(other, &at)| match last_axis(other)[1] {
                0 => Piece::Equal(other.data[at]),
                _ => Piece::Each(&other.data[at + i * BLOCK..][..values.len()]),
            });
            let others: SmallVector<_, 4> = others.collect();
            dispatch_best(Block { stages: self.stages, others: &others, values });
        }
    }

    /// Computes the result of the last stage. `x` is the tensor given to [`FusedElementwise::new`].
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub fn run(&self, mut x: Tensor) -> Result<Tensor, TensorError> {
        if x.is_empty() {
            return Ok(x);
        }
        if let Some(values) = x.exclusive::<f32>() {
            self.pass(None, values);
            return Ok(x);
        }
        let mut out = Buffer::any(x.len())?;
        let from = Strided::collapsed(&x, x.dims())?;
        self.pass(Some(&from), &mut out);
        Tensor::from_buffer(ElementType::F32, x.dims(), out)
    }

    /// Applies all stages in one pass. The first input is `from`, or is already in `to` if `from` is `None`.
    fn pass(&self, from: Option<&Strided<f32>>, to: &mut [f32]) {
        let operands = || self.others.iter().chain(from).map(RowReader::new);
        let readers = || operands().collect::<Readers>();
        row_reader::in_parts(to, SHARED, readers, |readers, sizes, to| self.blocks(readers, sizes, to));
    }

    /// Computes the next elements block by block: all stages while a block is in the L1 cache.
    fn blocks(&self, readers: &mut Readers, BlockSizes { part, block }: BlockSizes, to: &mut [f32]) {
        let (others, from) = readers.split_at_mut(self.others.len());
        for values in to.chunks_mut(part).flat_map(|part| part.chunks_mut(block)) {
            if let [from] = from {
                values.copy_from_slice(from.read(values.len()));
            }
            let others = others.iter_mut().map(|other| other.read_piece(values.len()));
            let others: SmallVector<_, 4> = others.collect();
            dispatch_best(Block { stages: self.stages, others: &others, values });
        }
    }
}

/// The length of the last axis, and its stride.
fn last_axis(operand: &Strided<f32>) -> [isize; 2] {
    let layout = &operand.layout;
    [layout.dims.last().map_or(1, |&len| len as isize), layout.strides.last().copied().unwrap_or(0)]
}

fn is_f32(tensor: &Tensor) -> bool {
    tensor.element_type() == ElementType::F32
}

/// The minimum number of elements per thread.
const SHARED: usize = 1 << 15;

/// The readers of the other inputs, in the order of the stages. The reader of the first input follows, unless
/// the memory of the result holds that input.
type Readers<'a> = SmallVector<RowReader<'a, f32>, 4>;

/// A block of values for all stages, and the stages' other inputs in order.
struct Block<'a> {
    stages: &'a [Stage<&'a Tensor>],
    others: &'a [Piece<'a, f32>],
    values: &'a mut [f32],
}

impl Vectorised for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { stages, others, values } = self;
        let mut others = others.iter();
        let mut other = || others.next().copied().unwrap_or(Piece::Each(&[]));
        for stage in stages {
            match *stage {
                Stage::Unary(op) => {
                    Apply { op, elements: &mut *values }.run::<I>();
                }
                Stage::Same(op) => {
                    with_fusable!(op, f32, f => (&mut *values).each(|x| f(x, x)), else ());
                }
                Stage::Right(op, _) => {
                    let other = other();
                    with_fusable!(op, f32, f => update(values, other, f), else ());
                }
                Stage::Left(op, _) => {
                    let other = other();
                    with_fusable!(op, f32, f => update(values, other, |x, y| f(y, x)), else ());
                }
            }
        }
    }
}

/// Replaces each value `x` with `f(x, y)`, where `y` is the element of the other input at the same position.
#[inline(always)]
fn update(values: &mut [f32], others: Piece<f32>, f: impl Fn(f32, f32) -> f32) {
    match others {
        Piece::Equal(y) => values.iter_mut().for_each(|x| *x = f(*x, y)),
        Piece::Each(others) => values.iter_mut().zip(others).for_each(|(x, &y)| *x = f(*x, y)),
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

    fn one_by_one(x: &Tensor, stages: &[Stage<&Tensor>]) -> Tensor {
        stages.iter().fold(x.clone(), |value, stage| stage.apply(&value).unwrap())
    }

    fn check(x: &Tensor, stages: &[Stage<&Tensor>]) {
        let expected = one_by_one(x, stages);
        let fused = FusedElementwise::new(x, stages).unwrap();
        assert_eq!(fused.run(x.clone()).unwrap(), expected, "{stages:?}");
        // Overwrites a copy with a single owner.
        let own = UnaryOp::Negative.apply(&UnaryOp::Negative.apply(x).unwrap()).unwrap();
        let place = own.storage().bytes().as_ptr();
        let found = fused.run(own).unwrap();
        assert_eq!(found, expected, "{stages:?}");
        assert_eq!(found.storage().bytes().as_ptr(), place);
    }

    #[test]
    fn fused_stages_equal_single_functions() {
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
                    check(&x, &[Stage::Right(binary, other), Stage::Unary(unary)]);
                    check(&x, &[Stage::Unary(unary), Stage::Left(binary, other)]);
                    let last = others.last().unwrap();
                    let all = [
                        Stage::Same(binary),
                        Stage::Left(BinaryOp::Mul, other),
                        Stage::Unary(unary),
                        Stage::Right(BinaryOp::Add, last),
                    ];
                    check(&x, &all);
                }
            }
        }
    }

    #[test]
    fn views_are_read_without_a_copy() {
        let x = tensor(&[4, 60, 50]).slice(1, 59, 20, -3).unwrap().permute(&[0, 2, 1]).unwrap();
        let other = tensor(&[50, 1]);
        let stages = [Stage::Right(BinaryOp::Add, &other), Stage::Unary(UnaryOp::Tanh)];
        assert_eq!(
            FusedElementwise::new(&x, &stages).unwrap().run(x.clone()).unwrap(),
            one_by_one(&x, &stages)
        );
    }

    #[test]
    fn larger_inputs_other_types_and_unfusable_functions_are_declined() {
        let x = tensor(&[2, 1]);
        let (wide, double) = (tensor(&[2, 3]), Tensor::scalar(1.0f64));
        let add = |other| [Stage::Right(BinaryOp::Add, other)];
        assert!(FusedElementwise::new(&x, &add(&x)).is_some());
        assert!(FusedElementwise::new(&x, &add(&wide)).is_none());
        assert!(FusedElementwise::new(&x, &add(&double)).is_none());
        assert!(FusedElementwise::new(&double, &[Stage::Unary(UnaryOp::Relu)]).is_none());
        assert!(FusedElementwise::new(&x, &[Stage::Unary(UnaryOp::Sin)]).is_none());
        assert!(FusedElementwise::new(&x, &[Stage::Right(BinaryOp::Mod, &x)]).is_none());
    }

    #[test]
    fn shared_inputs_are_not_overwritten() {
        let x = UnaryOp::Negative.apply(&tensor(&[5])).unwrap();
        let (kept, before) = (x.clone(), x.to_f32_vec().unwrap());
        FusedElementwise::new(&x, &[Stage::Unary(UnaryOp::Relu)]).unwrap().run(x).unwrap();
        assert_eq!(kept.to_f32_vec().unwrap(), before);
    }
}
