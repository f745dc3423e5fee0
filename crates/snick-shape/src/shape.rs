//! The shape of a tensor: unranked, or a list of symbolic dimensions.

pub(crate) mod error;
pub(crate) mod expr_spec;
mod parse;
pub(crate) mod spec;

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::sym_expr::SymExpr;
use crate::symbols::Symbols;

/// The known facts about the shape of a tensor. The interval of each dimension is within `0..`.
///
/// ```
/// use snick::{Origin, Shape, Symbols};
///
/// let mut symbols = Symbols::default();
/// let image = Shape::parse("[N,3,H=1..,W=1..]", &mut symbols, Origin::default())?;
/// let [n, _, h, w] = image.dims().unwrap() else { unreachable!() };
/// let pixels = symbols.mul(h, w).unwrap();
/// let flat = Shape::ranked([n.clone(), 3.into(), pixels]);
/// assert_eq!(flat.display(&symbols).to_string(), "[N,3,H*W]");
/// # Ok::<(), snick::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shape(Option<SmallVec<[SymExpr; 4]>>);

impl Shape {
    /// A shape of unknown rank, printed `[...]`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert_eq!(Shape::unranked().display(&Symbols::default()).to_string(), "[...]");
    /// ```
    pub const fn unranked() -> Self {
        Self(None)
    }

    /// A shape with these dimensions; a scalar if there are none.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert_eq!(Shape::ranked([2, 3].map(SymExpr::Const)), Shape::from([2, 3]));
    /// assert_eq!(Shape::ranked([]).rank(), Some(0));
    /// ```
    pub fn ranked(dims: impl IntoIterator<Item = SymExpr>) -> Self {
        Self(Some(dims.into_iter().collect()))
    }

    /// The number of dimensions, if known.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert_eq!(Shape::from([2, 3]).rank(), Some(2));
    /// assert_eq!(Shape::unranked().rank(), None);
    /// ```
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[SymExpr]>::len)
    }

    /// The dimensions, if their number is known.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert_eq!(Shape::from([2, 3]).dims(), Some([SymExpr::Const(2), SymExpr::Const(3)].as_slice()));
    /// ```
    pub fn dims(&self) -> Option<&[SymExpr]> {
        self.0.as_deref()
    }

    /// The dimensions as numbers, if all are known and not negative.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert_eq!(Shape::from([2, 3]).as_static().as_deref(), Some([2, 3].as_slice()));
    /// assert_eq!(Shape::unranked().as_static(), None);
    /// ```
    pub fn as_static(&self) -> Option<StaticDims> {
        self.dims()?.iter().map(|dim| usize::try_from(dim.as_const()?).ok()).collect()
    }

    /// The number of elements, if all dimensions are known and the product fits in `usize`.
    ///
    /// ```
    /// # use snick::Shape;
    /// assert_eq!(Shape::from([2, 3]).element_count(), Some(6));
    /// assert_eq!(Shape::from([i64::MAX, 3]).element_count(), None);
    /// assert_eq!(Shape::unranked().element_count(), None);
    /// ```
    pub fn element_count(&self) -> Option<usize> {
        let size = |dim: &SymExpr| usize::try_from(dim.as_const()?).ok();
        self.dims()?.iter().try_fold(1usize, |count, dim| count.checked_mul(size(dim)?))
    }

    /// The dimensions for given values of the symbols, which are looked up by their labels: the names of named
    /// symbols, and `s3` and the like for others. `None` for a dynamic rank, if a symbol has no value, or if a
    /// dimension would be negative or too large.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// # use snick::{Origin, Shape, ShapeSpec, Symbols};
    /// let mut symbols = Symbols::default();
    /// let shape = "N,2*N,3".parse::<ShapeSpec>()?.instantiate(&mut symbols, Origin::default())?;
    /// let sizes = HashMap::from([("N", 4)]);
    /// assert_eq!(shape.eval(&symbols, |name| sizes.get(name).copied()), Some(vec![4, 8, 3]));
    /// assert_eq!(shape.eval(&symbols, |_| None), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn eval(&self, symbols: &Symbols, value: impl Fn(&str) -> Option<i64>) -> Option<Vec<i64>> {
        let of_symbol = |id| value(&symbols.label(id));
        let dim = |dim: &SymExpr| symbols.eval(dim, &of_symbol).filter(|&size| size >= 0);
        self.dims()?.iter().map(dim).collect()
    }

    /// Whether the rank and all dimensions are known numbers.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// assert!(Shape::from([2, 3]).is_static() && !Shape::unranked().is_static());
    /// ```
    pub fn is_static(&self) -> bool {
        self.dims().is_some_and(|dims| dims.iter().all(|dim| dim.as_const().is_some()))
    }

    /// The shape in the notation of OpenVINO's PartialShape: `[?,3,1..10]`, `[]`, `[...]`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// let mut symbols = Symbols::default();
    /// let n = symbols.named("N", Interval::new(1, 8).unwrap(), Origin::default())?;
    /// let twice = symbols.mul(&n, &2.into()).unwrap();
    /// let shape = Shape::ranked([n, 3.into(), twice]);
    /// assert_eq!(shape.display_intervals(&symbols).to_string(), "[1..8,3,2..16]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display_intervals<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + 'a {
        Printed { shape: self, symbols, notation: Notation::Intervals }
    }

    /// The shape with its expressions: `[N,3,W-1]`. An unnamed symbol is printed as its interval if it is the
    /// whole dimension, and as a label such as `s3` within an expression.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, SymExpr, Symbols};
    /// let mut symbols = Symbols::default();
    /// let n = symbols.named("N", Interval::new(1, 8).unwrap(), Origin::default())?;
    /// let twice = symbols.mul(&n, &2.into()).unwrap();
    /// let shape = Shape::ranked([n, 3.into(), twice]);
    /// assert_eq!(shape.display(&symbols).to_string(), "[N,3,2*N]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + 'a {
        Printed { shape: self, symbols, notation: Notation::Names }
    }

    /// The shape with its expressions, in which an unnamed symbol is printed as its label even if it is the
    /// whole dimension: `[s0,3,s0+s1]`. This shows which dims of unknown size are equal.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Shape, Symbols};
    /// let mut symbols = Symbols::default();
    /// let any = symbols.fresh(Interval::DIM, Origin::default());
    /// let shape = Shape::ranked([any, 3.into()]);
    /// assert_eq!(shape.display(&symbols).to_string(), "[?,3]");
    /// assert_eq!(shape.display_labels(&symbols).to_string(), "[s0,3]");
    /// ```
    pub fn display_labels<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + 'a {
        Printed { shape: self, symbols, notation: Notation::Labels }
    }
}

/// The dimensions of a static shape. Up to 6 are stored inline.
///
/// ```
/// # use snick::Shape;
/// let dims = Shape::from([2, 3]).as_static().unwrap();
/// assert_eq!(dims.iter().product::<usize>(), 6);
/// assert_eq!(*dims, [2, 3]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct StaticDims(SmallVec<[usize; 6]>);

impl StaticDims {
    /// The dimensions.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl Deref for StaticDims {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for StaticDims {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Self {
        Self(dims.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a StaticDims {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<&[i64]> for Shape {
    fn from(dims: &[i64]) -> Self {
        Self::ranked(dims.iter().map(|dim| SymExpr::Const(*dim)))
    }
}

impl From<&[usize]> for Shape {
    /// A dimension beyond `i64` saturates. No tensor can have such a dimension.
    fn from(dims: &[usize]) -> Self {
        Self::ranked(dims.iter().map(|dim| SymExpr::Const(i64::try_from(*dim).unwrap_or(i64::MAX))))
    }
}

impl<const N: usize> From<[i64; N]> for Shape {
    fn from(dims: [i64; N]) -> Self {
        Self::from(dims.as_slice())
    }
}

impl FromIterator<SymExpr> for Shape {
    fn from_iter<I: IntoIterator<Item = SymExpr>>(dims: I) -> Self {
        Self::ranked(dims)
    }
}

struct Printed<'a> {
    shape: &'a Shape,
    symbols: &'a Symbols,
    notation: Notation,
}

/// The notation of dims that are not numbers.
#[derive(Copy, Clone, PartialEq)]
enum Notation {
    /// As intervals.
    Intervals,
    /// As expressions, except that a dimension that is just an unnamed symbol prints as an interval.
    Names,
    /// As expressions, with the labels of unnamed symbols.
    Labels,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.shape.dims() else { return f.write_str("[...]") };
        f.write_str("[")?;
        for (index, dim) in dims.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            let is_anonymous = || dim.as_symbol().is_some_and(|id| self.symbols.name(id).is_none());
            match self.notation {
                Notation::Intervals => write!(f, "{}", self.symbols.interval(dim))?,
                Notation::Names if is_anonymous() => write!(f, "{}", self.symbols.interval(dim))?,
                Notation::Names | Notation::Labels => write!(f, "{}", self.symbols.display(dim))?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;
    use crate::symbols::Origin;

    #[test]
    fn both_texts() {
        let mut symbols = Symbols::default();
        let origin = Origin::default();
        let n = symbols.named("N", Interval::DIM, origin).unwrap();
        let any = symbols.fresh(Interval::new(1, 10).unwrap(), origin);
        let less = symbols.sub(&any, &SymExpr::from(1)).unwrap();
        let shape = Shape::ranked([n, SymExpr::from(3), any, less]);
        assert_eq!(shape.display_intervals(&symbols).to_string(), "[?,3,1..10,..9]");
        assert_eq!(shape.display(&symbols).to_string(), "[N,3,1..10,s1-1]");
        assert_eq!(shape.rank(), Some(4));
        assert!(!shape.is_static() && shape.as_static().is_none());
        assert_eq!(Shape::unranked().display(&symbols).to_string(), "[...]");
        assert_eq!(Shape::from([]).display_intervals(&symbols).to_string(), "[]");
    }

    #[test]
    fn static_shapes() {
        let shape = Shape::from([2, 3]);
        assert!(shape.is_static());
        let dims = shape.as_static().unwrap();
        assert_eq!(*dims, [2, 3]);
        let mut sizes: Vec<usize> = Vec::new();
        sizes.extend(&dims);
        assert_eq!(sizes, [2, 3]);
        assert_eq!(Shape::from([].as_slice() as &[i64]).rank(), Some(0));
        assert_eq!(Shape::from([2_usize, 3].as_slice()), shape);
        assert_eq!(Shape::unranked().as_static(), None);
    }
}
