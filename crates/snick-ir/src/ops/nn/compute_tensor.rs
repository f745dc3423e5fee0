//! Arithmetic on whole tensors in f32 or f64, used by normalisations.

use snick_tensor::kernels::{BinaryOp, FusedElementwise, Stage, UnaryOp};
use snick_tensor::{Dims, ElementType, Tensor};

use crate::OpError;

/// A tensor of f32 or f64.
#[derive(Clone, Debug)]
pub struct ComputeTensor(Tensor);

impl ComputeTensor {
    /// Converts the tensor to f32, unless it is f64.
    pub fn new(tensor: &Tensor) -> Result<Self, OpError> {
        Ok(Self(tensor.cast(wide(tensor.element_type()))?))
    }

    /// Reshapes a vector with one entry per channel to broadcast with data of `rank`, whose channels are on
    /// axis 1.
    pub fn per_channel(tensor: &Tensor, rank: usize) -> Result<Self, OpError> {
        let mut dims = Dims::from_elem(1, rank.saturating_sub(1));
        if let Some(first) = dims.first_mut() {
            *first = tensor.len();
        }
        Self::new(&tensor.reshape(&dims)?)
    }

    fn with(&self, op: BinaryOp, other: &Tensor) -> Result<Self, OpError> {
        Ok(Self(op.apply(&self.0, other)?))
    }

    /// A number of the same type.
    pub fn number(&self, number: f64) -> Result<Self, OpError> {
        Ok(Self(Tensor::scalar(number).cast(self.0.element_type())?))
    }

    fn with_number(&self, op: BinaryOp, number: f64) -> Result<Self, OpError> {
        self.with(op, &self.number(number)?.0)
    }

    /// `self + other`
    pub fn plus(&self, other: &Self) -> Result<Self, OpError> {
        self.with(BinaryOp::Add, &other.0)
    }

    /// `self - other`
    pub fn minus(&self, other: &Self) -> Result<Self, OpError> {
        self.with(BinaryOp::Sub, &other.0)
    }

    /// `self * other`
    pub fn times(&self, other: &Self) -> Result<Self, OpError> {
        self.with(BinaryOp::Mul, &other.0)
    }

    /// `self / other`
    pub fn over(&self, other: &Self) -> Result<Self, OpError> {
        self.with(BinaryOp::Div, &other.0)
    }

    /// `self + number`
    pub fn plus_number(&self, number: f64) -> Result<Self, OpError> {
        self.with_number(BinaryOp::Add, number)
    }

    /// `self ^ number`
    pub fn power(&self, number: f64) -> Result<Self, OpError> {
        self.with_number(BinaryOp::Pow, number)
    }

    /// `self * factor + summand`, in one pass over the memory.
    pub fn scaled(self, factor: &Self, summand: &Self) -> Result<Self, OpError> {
        let stages = [Stage::Right(BinaryOp::Mul, &factor.0), Stage::Right(BinaryOp::Add, &summand.0)];
        match FusedElementwise::new(&self.0, &stages) {
            Some(fused) => Ok(Self(fused.run(self.0)?)),
            None => self.times(factor)?.plus(summand),
        }
    }

    /// The square root.
    pub fn root(&self) -> Result<Self, OpError> {
        Ok(Self(UnaryOp::Sqrt.apply(&self.0)?))
    }

    /// The tensor in f32 or f64.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }

    /// Converts the tensor to another type.
    pub fn rounded(&self, element_type: ElementType) -> Result<Tensor, OpError> {
        Ok(self.0.cast(element_type)?)
    }
}

fn wide(element_type: ElementType) -> ElementType {
    if element_type == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
}
