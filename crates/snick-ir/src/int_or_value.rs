//! [`IntOrValue`]: a known integer, or a value that the graph computes. MLIR calls it `OpFoldResult`.
//!
//! Arithmetic folds integers and adds nodes only where needed.

use snick_shape::{IntOp, Integers, Interval, SymExpr, WideIntegers};
use snick_tensor::ElementType;

use crate::{GraphBuilder, OpError, Value};

/// A known integer, or a scalar value of the graph with its interval.
///
/// `V` identifies the value: a [`Value`] of a graph under construction, `()` in an op that takes its operands
/// in order, or an [`IndexEntry`](crate::ops::slice::index_inputs::IndexEntry) of an index input.
///
/// ```
/// use snick::{ElementType, GraphBuilder, IntOrValue};
///
/// let mut b = GraphBuilder::new("sizes");
/// let x = b.parameter("x", ElementType::F32, "N,3")?;
/// let (rows, columns) = (IntOrValue::dim(&mut b, x, 0)?, IntOrValue::dim(&mut b, x, 1)?);
/// assert_eq!(columns.mul(&mut b, IntOrValue::Int(2))?, IntOrValue::Int(6));
/// assert_eq!(rows.as_int(), None);
/// // Inference knows that a size is not negative.
/// assert_eq!(rows.max(&mut b, IntOrValue::Int(0))?, rows);
/// # Ok::<(), snick::OpError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum IntOrValue<V = Value> {
    /// The integer.
    Int(i64),
    /// A value, and an interval that contains it in every run.
    Value(V, Interval),
}

use IntOrValue::Int;

impl<V> From<i64> for IntOrValue<V> {
    fn from(int: i64) -> Self {
        Int(int)
    }
}

impl<V> IntOrValue<V> {
    /// The integer, if it is known.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Int(int) => Some(*int),
            Self::Value(..) => None,
        }
    }

    /// The interval of possible values.
    pub fn interval(&self) -> Interval {
        match self {
            Int(int) => Interval::exact(*int),
            Self::Value(_, interval) => *interval,
        }
    }

    /// The same value with another interval.
    #[must_use]
    pub fn within(self, interval: Interval) -> Self {
        match self {
            Int(int) => Int(int),
            Self::Value(value, _) => Self::Value(value, interval),
        }
    }

    /// Replaces the identifier of a value with the result of `rename`. Returns `None` if `rename` does.
    pub fn rename<W>(self, rename: impl FnOnce(V) -> Option<W>) -> Option<IntOrValue<W>> {
        match self {
            Int(int) => Some(Int(int)),
            Self::Value(value, interval) => rename(value).map(|value| IntOrValue::Value(value, interval)),
        }
    }
}

/// i64 scalars in the graph under construction. Division rounds as [`IntOp`] specifies only if the dividend
/// is not negative.
impl Integers for GraphBuilder<'_> {
    type Int = IntOrValue;
    type Error = OpError;

    fn compute(&mut self, op: IntOp, &a: &IntOrValue, &b: &IntOrValue) -> Result<IntOrValue, OpError> {
        let build = match (op, a, b) {
            (IntOp::Add | IntOp::Sub, same, Int(0))
            | (IntOp::Add, Int(0), same)
            | (IntOp::Mul | IntOp::FloorDiv | IntOp::CeilDiv, same, Int(1))
            | (IntOp::Mul, Int(1), same) => return Ok(same),
            (IntOp::Mul, _, Int(0)) | (IntOp::Mul, Int(0), _) => return Ok(Int(0)),
            (IntOp::FloorDiv | IntOp::CeilDiv, Int(_), Int(divisor @ ..1)) => {
                return Err(OpError::out_of_range("a divisor", divisor, "1 or more"));
            }
            (_, Int(x), Int(y)) => {
                let Ok(int) = WideIntegers.compute(op, &x.into(), &y.into());
                let int = i64::try_from(int).map(Int);
                return int.map_err(|_| OpError::unsupported("an index of more than 64 bits"));
            }
            (IntOp::Add, ..) => Self::add,
            (IntOp::Sub, ..) => Self::subtract,
            (IntOp::Mul, ..) => Self::multiply,
            (IntOp::Min, ..) => Self::minimum,
            (IntOp::Max, ..) => Self::maximum,
            (IntOp::FloorDiv, ..) => Self::divide,
            (IntOp::CeilDiv, ..) => return b.sub(self, Int(1))?.add(self, a)?.div(self, b),
        };
        let (x, y) = (a.materialize(self)?, b.materialize(self)?);
        let built = build(self, x, y)?;
        // No node is needed if inference knows that the result is a constant or equals one of the operands.
        let Some(known) = known_scalar(self, built)? else {
            return Ok(IntOrValue::Value(built, Interval::ANY));
        };
        if let Some(int) = known.as_const() {
            return Ok(Int(int));
        }
        for same in [x, y] {
            if known_scalar(self, same)?.as_ref() == Some(&known) {
                return IntOrValue::value(self, same);
            }
        }
        IntOrValue::value(self, built)
    }
}

/// The known expression of a scalar.
fn known_scalar(b: &GraphBuilder, value: Value) -> Result<Option<SymExpr>, OpError> {
    Ok(b.fact(value)?.elements().and_then(|elements| elements.into_iter().next()))
}

/// i64 scalars.
impl IntOrValue {
    /// A scalar value with its inferred interval. Always [`IntOrValue::Value`], even if the number is known.
    pub fn value(b: &GraphBuilder, value: Value) -> Result<Self, OpError> {
        let known = known_scalar(b, value)?;
        let interval = known.map_or(Interval::ANY, |known| b.interval(&known));
        Ok(Self::Value(value, interval))
    }

    /// A scalar value, or its integer if inference knows it.
    pub fn fold(b: &GraphBuilder, value: Value) -> Result<Self, OpError> {
        let known = Self::value(b, value)?;
        Ok(known.interval().is_exact().map_or(known, Int))
    }

    /// The size of an axis.
    pub fn dim(b: &mut GraphBuilder, data: Value, axis: usize) -> Result<Self, OpError> {
        let dim = b.fact(data)?.shape.dims().and_then(|dims| dims.get(axis)?.as_const());
        if let Some(dim) = dim {
            return Ok(Int(dim));
        }
        let shape = b.shape_of(data)?;
        Self::element(b, shape, axis)
    }

    /// Element `at` of an i64 vector.
    pub fn element(b: &mut GraphBuilder, vector: Value, at: usize) -> Result<Self, OpError> {
        let at = b.int(at as i64)?;
        let element = b.gather(vector, at, 0)?;
        Self::value(b, element)
    }

    /// Converts an integer to a constant.
    pub fn materialize(self, b: &mut GraphBuilder) -> Result<Value, OpError> {
        match self {
            Int(int) => b.int(int),
            Self::Value(value, _) => Ok(value),
        }
    }

    /// Combines integers and scalar values into a vector.
    pub fn vector(b: &mut GraphBuilder, elements: &[Self]) -> Result<Value, OpError> {
        if let Some(ints) = elements.iter().map(Self::as_int).collect::<Option<Vec<i64>>>() {
            return b.ints(&ints);
        }
        let mut parts = Vec::with_capacity(elements.len());
        for element in elements {
            parts.push(match *element {
                Int(int) => b.ints(&[int])?,
                Self::Value(value, _) => {
                    let wide = b.convert(value, ElementType::I64)?;
                    b.unsqueeze(wide, &[0])?
                }
            });
        }
        b.concat(0, &parts)
    }

    /// `self + other`.
    pub fn add(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::Add, &self, &other)
    }

    /// `self - other`.
    pub fn sub(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::Sub, &self, &other)
    }

    /// `self * other`.
    pub fn mul(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::Mul, &self, &other)
    }

    /// `self / other`, rounded down, for non-negative operands.
    pub fn div(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::FloorDiv, &self, &other)
    }

    /// `min(self, other)`.
    pub fn min(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::Min, &self, &other)
    }

    /// `max(self, other)`.
    pub fn max(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        b.compute(IntOp::Max, &self, &other)
    }

    /// `self < other`, as a condition for [`IntOrValue::select`].
    pub fn less(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        self.compare(b, other, |x, y| x < y, GraphBuilder::less)
    }

    /// `self == other`, as a condition for [`IntOrValue::select`].
    pub fn equal(self, b: &mut GraphBuilder, other: Self) -> Result<Self, OpError> {
        self.compare(b, other, |x, y| x == y, GraphBuilder::equal)
    }

    /// `then` where this condition holds, else `other`.
    pub fn select(self, b: &mut GraphBuilder, then: Self, other: Self) -> Result<Self, OpError> {
        match self {
            Int(condition) => Ok(if condition != 0 { then } else { other }),
            Self::Value(..) if then == other => Ok(then),
            Self::Value(condition, _) => {
                let (then, other) = (then.materialize(b)?, other.materialize(b)?);
                let selected = b.select(condition, then, other)?;
                Self::value(b, selected)
            }
        }
    }

    fn compare<'g>(
        self,
        b: &mut GraphBuilder<'g>,
        other: Self,
        holds: fn(&i64, &i64) -> bool,
        build: fn(&GraphBuilder<'g>, Value, Value) -> Result<Value, OpError>,
    ) -> Result<Self, OpError> {
        if let (Int(x), Int(y)) = (self, other) {
            return Ok(Int(i64::from(holds(&x, &y))));
        }
        let (x, y) = (self.materialize(b)?, other.materialize(b)?);
        Ok(Self::Value(build(b, x, y)?, Interval::ANY))
    }
}
