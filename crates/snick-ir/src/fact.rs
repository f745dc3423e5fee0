//! Facts: what is known about a value before the graph runs.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use snick_shape::{Interval, Shape, SymExpr, Symbols};
use snick_tensor::{ElementType, SmallVector, SmallVectorIntoIter, Tensor};

use crate::FloatBounds;

/// The maximum number of elements that a fact tracks; elements of larger tensors are unknown.
pub const MAX_ELEMENTS: usize = 256;

/// The facts of a node's outputs, by port.
///
/// ```
/// use snick::{ElementType, Fact, Facts, Shape};
///
/// // An op with two outputs: values and their indices.
/// let mut facts = Facts::from(Fact::new(ElementType::F32, Shape::from([2, 3])));
/// facts.push(Fact::new(ElementType::I64, Shape::from([2, 3])));
/// assert_eq!(facts.len(), 2);
/// assert_eq!(facts[1].element_type(), ElementType::I64);
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts(SmallVector<Fact, 1>);

impl Facts {
    /// No facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the fact of the next output.
    pub fn push(&mut self, fact: Fact) {
        self.0.push(fact);
    }
}

impl Deref for Facts {
    type Target = [Fact];

    fn deref(&self) -> &[Fact] {
        &self.0
    }
}

impl DerefMut for Facts {
    fn deref_mut(&mut self) -> &mut [Fact] {
        &mut self.0
    }
}

impl From<Fact> for Facts {
    fn from(fact: Fact) -> Self {
        Self([fact].into())
    }
}

impl<const N: usize> From<[Fact; N]> for Facts {
    fn from(facts: [Fact; N]) -> Self {
        facts.into_iter().collect()
    }
}

impl From<Vec<Fact>> for Facts {
    fn from(facts: Vec<Fact>) -> Self {
        Self(facts.into())
    }
}

impl FromIterator<Fact> for Facts {
    fn from_iter<I: IntoIterator<Item = Fact>>(facts: I) -> Self {
        Self(facts.into_iter().collect())
    }
}

impl IntoIterator for Facts {
    type Item = Fact;
    type IntoIter = SmallVectorIntoIter<Fact, 1>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'f> IntoIterator for &'f Facts {
    type Item = &'f Fact;
    type IntoIter = std::slice::Iter<'f, Fact>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Element type, shape and known elements of a value. Facts are sound: possibly imprecise, but never wrong.
///
/// ```
/// use snick::{ElementType, Fact, Shape, Tensor};
///
/// let image = Fact::new(ElementType::U8, Shape::from([480, 640, 3]));
/// assert_eq!((image.element_type(), image.shape().rank()), (ElementType::U8, Some(3)));
/// let axes = Fact::constant(Tensor::from_slice(&[0i64, 2], &[2])?.into());
/// assert_eq!(axes.ints().as_deref(), Some(&[0, 2][..]));
/// # Ok::<(), snick::TensorError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// The element type; `Dynamic` if unknown.
    pub element_type: ElementType,
    /// Shape; dims are expressions over the graph's symbols.
    pub shape: Shape,
    /// The elements, if known.
    pub known: Option<Known>,
}

/// Elements of a value that are known before the graph runs.
///
/// ```
/// use snick::{ElementType, Fact, Known, Shape, SymExpr};
///
/// // The shape [2, 3] as a vector.
/// let sizes = Fact::new(ElementType::I64, Shape::from([2]));
/// let sizes = sizes.with_elements(Some(vec![SymExpr::from(2), SymExpr::from(3)]));
/// assert!(matches!(sizes.known(), Some(Known::Elements(elements)) if elements.len() == 2));
/// ```
// Exhaustive, so that a new variant breaks every match in the sibling crates.
#[derive(Clone, PartialEq, Debug)]
pub enum Known {
    /// All elements as numbers: the value is a constant or folds to one.
    Tensor(Arc<Tensor>),
    /// The elements of a small integer tensor of static shape in row-major order, as expressions. Each
    /// unknown element has its own symbol.
    Elements(Arc<[SymExpr]>),
    /// Bounds of the elements of a small floating-point tensor of static shape, in row-major order.
    Reals(Arc<[FloatBounds]>),
}

impl Fact {
    /// A fact in which everything is unknown.
    pub fn unknown() -> Self {
        Self { element_type: ElementType::Dynamic, shape: Shape::unranked(), known: None }
    }

    /// A fact with a type and a shape.
    pub fn new(element_type: ElementType, shape: Shape) -> Self {
        Self { element_type, shape, known: None }
    }

    /// The element type; `Dynamic` if unknown.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The shape; dims are expressions over the graph's symbols.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements, if they are known.
    pub fn known(&self) -> Option<&Known> {
        self.known.as_ref()
    }

    /// The fact of a constant.
    pub fn constant(tensor: Arc<Tensor>) -> Self {
        let shape = Shape::from(tensor.dims());
        Self { element_type: tensor.element_type(), shape, known: Some(Known::Tensor(tensor)) }
    }

    /// Adds known elements; ignores them if their number does not match the shape.
    pub fn with_elements(mut self, elements: Option<impl Into<Arc<[SymExpr]>>>) -> Self {
        if let (Some(elements), Some(count)) = (elements, self.shape.element_count()) {
            let elements = elements.into();
            if elements.len() <= MAX_ELEMENTS && count == elements.len() {
                self.known = Some(Known::Elements(elements));
            }
        }
        self
    }

    /// The constant, if all elements are known as numbers.
    pub fn as_tensor(&self) -> Option<&Arc<Tensor>> {
        match &self.known {
            Some(Known::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The elements as integer expressions, row-major; `None` if unknown, not integer, or too many.
    pub fn elements(&self) -> Option<Vec<SymExpr>> {
        match self.known.as_ref()? {
            Known::Elements(elements) => Some(elements.to_vec()),
            Known::Tensor(tensor) => Some(integers(tensor)?.iter().map(|&v| SymExpr::from(v)).collect()),
            Known::Reals(_) => None,
        }
    }

    /// The elements as integers, if all of them are known numbers.
    pub fn ints(&self) -> Option<SmallVector<i64, 4>> {
        match self.known.as_ref()? {
            Known::Elements(elements) => elements.iter().map(SymExpr::as_const).collect(),
            Known::Tensor(tensor) => Some(SmallVector::from_slice(&integers(tensor)?)),
            Known::Reals(_) => None,
        }
    }

    /// The expressions in the shape and the elements.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &SymExpr> {
        let (elements, reals): (&[SymExpr], &[FloatBounds]) = match &self.known {
            Some(Known::Elements(elements)) => (elements, &[]),
            Some(Known::Reals(reals)) => (&[], reals),
            Some(Known::Tensor(_)) | None => (&[], &[]),
        };
        let numerators = reals.iter().filter_map(|real| real.ratio.as_ref()).map(|ratio| &ratio.num);
        self.shape.dims().unwrap_or_default().iter().chain(elements).chain(numerators)
    }

    /// Whether a value can satisfy both facts, judging by types and intervals of dims.
    pub fn agrees(&self, other: &Fact, symbols: &Symbols) -> bool {
        let types = [self.element_type, other.element_type];
        if types[0] != types[1] && !types.contains(&ElementType::Dynamic) {
            return false;
        }
        let (Some(mine), Some(theirs)) = (self.shape.dims(), other.shape.dims()) else { return true };
        let meet = |m: &SymExpr, t: &SymExpr| symbols.interval(m).meet(symbols.interval(t)).is_some();
        mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(m, t)| meet(m, t))
    }

    /// Whether this fact is at least as precise as `other`: the element types are equal, or the type of
    /// `other` is unknown, and the interval of each dim is within the interval of the corresponding dim of
    /// `other`.
    pub fn refines(&self, other: &Fact, symbols: &Symbols) -> bool {
        if other.element_type != ElementType::Dynamic && self.element_type != other.element_type {
            return false;
        }
        match (self.shape.dims(), other.shape.dims()) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(mine), Some(theirs)) => {
                mine.len() == theirs.len()
                    && mine
                        .iter()
                        .zip(theirs)
                        .all(|(m, t)| m == t || covers(symbols.interval(t), symbols.interval(m)))
            }
        }
    }
}

/// The elements of a small integer or boolean tensor, if all of them fit in `i64`.
fn integers(tensor: &Tensor) -> Option<Cow<'_, [i64]>> {
    let et = tensor.element_type();
    if !(et.is_integer() || et == ElementType::Boolean) || tensor.len() > MAX_ELEMENTS {
        return None;
    }
    if et == ElementType::I64 {
        // Most index constants are i64 and aligned, so nothing is copied.
        return tensor.values().ok();
    }
    let values = tensor.to_i64_vec().ok()?;
    // The conversion from u64 saturates, so i64::MAX may stand for a larger value.
    (et != ElementType::U64 || !values.contains(&i64::MAX)).then_some(Cow::Owned(values))
}

fn covers(outer: Interval, inner: Interval) -> bool {
    outer.covers(&inner)
}
