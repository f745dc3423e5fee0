//! Generates the enum of all ops, its dispatch, and the lookup by name from one list.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;

use super::Op;
use super::control::opaque::Opaque;
use crate::op::{AttrSpec, Category, Dialect, OpName, OpTraits, RawNode, Version};
use crate::{Arity, Attrs, Graph, OpError};

/// Generates the enum of all ops, its dispatch and its registry.
macro_rules! ops {
    (@type $op:ident) => { $op };
    (@type $op:ident boxed) => { Box<$op> };
    ($($variant:ident($family:ident::$file:ident::$op:ident $(; $boxed:ident)?)),* $(,)?) => {
        $(pub use self::$family::$file::$op;)*

        /// Every op that snick knows, registered [`Custom`] ops, and [`Opaque`] for all other layers.
        ///
        /// ```
        /// use snick::{ops, Op};
        ///
        /// let op = Op::from(ops::Concat { axis: -1 });
        /// assert_eq!(op.type_name(), "Concat");
        /// assert_eq!(op.attrs().int("axis")?, Some(-1));
        /// assert!(matches!(op, Op::Concat(concat) if concat.axis == -1));
        /// # Ok::<(), snick::OpError>(())
        /// ```
        // Not `#[non_exhaustive]`, so that a match in a sibling crate fails to compile if it misses a new op.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs, reason = "each variant's type says what it is")]
        pub enum Op {
            $($variant(ops!(@type $op $($boxed)?)),)*
            Custom(Custom),
            Opaque(Opaque),
        }

        $(impl From<ops!(@type $op $($boxed)?)> for Op {
            fn from(op: ops!(@type $op $($boxed)?)) -> Self {
                Self::$variant(op)
            }
        })*

        impl Op {
            /// The registered name; `None` for a custom op or an opaque layer.
            fn op_name(&self) -> Option<&'static OpName> {
                match self {
                    $(Self::$variant(op) => Some(op.name()),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// The attributes, as written in files.
            pub fn attrs(&self) -> Attrs<'static> {
                match self {
                    $(Self::$variant(op) => op.attrs(),)*
                    Self::Custom(op) => op.attrs(),
                    Self::Opaque(op) => op.attrs.clone(),
                }
            }

            /// How many inputs the op takes.
            pub fn arity(&self) -> Arity {
                match self {
                    $(Self::$variant(_) => <$op>::ARITY,)*
                    Self::Custom(op) => op.definition().arity(),
                    Self::Opaque(_) => Opaque::ARITY,
                }
            }

            /// The declared properties of the op.
            pub fn traits(&self) -> OpTraits {
                match self {
                    $(Self::$variant(op) => op.traits(),)*
                    Self::Custom(op) => op.definition().traits(),
                    Self::Opaque(_) => Opaque::TRAITS,
                }
            }

            /// The indices of the inputs that count as weights if they are constant.
            pub fn weights(&self) -> &'static [usize] {
                match self {
                    $(Self::$variant(_) => <$op>::WEIGHTS,)*
                    Self::Custom(_) | Self::Opaque(_) => &[],
                }
            }

            /// Infers the facts of the outputs.
            pub fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                match self {
                    $(Self::$variant(op) => op.infer(cx),)*
                    Self::Custom(op) => op.infer(cx),
                    Self::Opaque(op) => op.infer(cx),
                }
            }

            /// See [`InferOp::axis_map`]; [`Graph::axis_map`] adds the map of element-wise ops.
            pub(crate) fn axis_map(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
                match self {
                    $(Self::$variant(op) => op.axis_map(inputs, output),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// See [`InferOp::cost`]; [`Graph::cost`] also derives costs from traits, axis maps and weights.
            pub(crate) fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
                match self {
                    $(Self::$variant(op) => op.cost(inputs, output),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// [`Op::eval`] for constant folding, with memory limited to 64 MiB plus 16 times the size of the
            /// inputs. The factor leaves room for converting 4-bit numbers to floats. The limit stops ops
            /// whose intermediate data, padded data for example, is far larger than their inputs and outputs.
            ///
            /// # Errors
            /// Same as [`Op::eval`], and [`snick_tensor::TensorError::TooLarge`] above the limit.
            pub fn eval_constants(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                let sizes = inputs.iter().map(Tensor::size_in_bytes).fold(0, usize::saturating_add);
                let bytes = sizes.saturating_mul(16).saturating_add(1 << 26);
                let pool = std::sync::Arc::<snick_tensor::Pool>::default();
                pool.scope_within(bytes, || self.eval(inputs))
            }

            /// Computes the outputs for concrete inputs.
            pub fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                self.arity().check(inputs.len())?;
                match self {
                    $(Self::$variant(op) => op.eval(inputs),)*
                    Self::Custom(op) => op.eval(inputs),
                    Self::Opaque(op) => op.eval(),
                }
            }

            /// Computes the output with the element-wise `stages` applied to it; `None` if fusing them with
            /// the op is not faster.
            ///
            /// # Errors
            /// Same as [`Op::eval`].
            pub fn eval_then(
                &self,
                inputs: &[Tensor],
                stages: &[Stage<&Tensor>],
            ) -> Result<Option<Tensor>, OpError> {
                self.arity().check(inputs.len())?;
                match self {
                    $(Self::$variant(op) => op.eval_then(inputs, stages),)*
                    Self::Custom(_) | Self::Opaque(_) => Ok(None),
                }
            }

            /// An op without the unused trailing outputs, if dropping them saves work.
            pub fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
                match self {
                    $(Self::$variant(op) => op.prune_outputs(is_read).map(Self::$variant),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// A more specific op to run instead, given the facts of the inputs.
            pub fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
                match self {
                    $(Self::$variant(op) => op.specialize(inputs).map(Self::$variant),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// The element-wise function that the op computes, given the facts of the inputs.
            pub fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
                match self {
                    $(Self::$variant(op) => op.element_function(inputs),)*
                    Self::Custom(_) | Self::Opaque(_) => None,
                }
            }

            /// Whether the op has two inputs and swapping them changes nothing, except for the sign of a zero:
            /// Maximum and Minimum may return either of two zeros with different signs.
            ///
            /// ```
            /// use snick::{Op, ops};
            ///
            /// assert!(Op::from(ops::Add::default()).is_commutative());
            /// assert!(!Op::from(ops::Subtract::default()).is_commutative());
            /// ```
            pub fn is_commutative(&self) -> bool {
                match self {
                    $(Self::$variant(op) => op.is_commutative(),)*
                    Self::Custom(op) => op.definition().is_commutative(),
                    Self::Opaque(_) => false,
                }
            }
        }

        /// Every name of every op, with the function that parses the op.
        fn entries() -> Vec<Entry> {
            let mut entries = Vec::new();
            $(for name in <$op>::NAMES {
                entries.push(Entry {
                    name,
                    arity: <$op>::ARITY,
                    traits: <$op>::TRAITS,
                    attrs: <$op>::attr_specs,
                    parse: |raw| <ops!(@type $op $($boxed)?)>::parse(raw).map(Op::$variant),
                });
            })*
            entries
        }
    };
}

/// An entry of the op reference: one name of an op and its declaration.
pub struct Entry {
    /// The name.
    pub name: &'static OpName,
    /// How many inputs the op takes.
    pub arity: Arity,
    /// The properties of the op, whatever its attributes are.
    pub traits: OpTraits,
    pub(super) attrs: fn() -> Vec<AttrSpec>,
    pub(super) parse: fn(&RawNode) -> Result<Op, OpError>,
}

impl Entry {
    /// The declared attributes.
    pub fn attrs(&self) -> Vec<AttrSpec> {
        (self.attrs)()
    }
}

/// Entries by dialect and lower-case type: OpenVINO's reader ignores the case of type names.
static REGISTRY: LazyLock<HashMap<(Dialect, String), Entry>> = LazyLock::new(|| {
    let entries = super::entries().into_iter();
    entries.map(|e| ((e.name.dialect, e.name.name.to_ascii_lowercase()), e)).collect()
});

/// Entries by the exact spelling of their type, which nearly every model uses, so that most lookups need no
/// conversion to lower case. The keys do not come from files, so the hash function needs no random seed.
static EXACT: LazyLock<HashMap<(Dialect, &'static str), &'static Entry, FixedState>> =
    LazyLock::new(|| REGISTRY.iter().map(|((dialect, _), e)| ((*dialect, e.name.name), e)).collect());

/// The op reference: all names of all ops with their declarations, sorted by name.
pub fn reference() -> Vec<&'static Entry> {
    let mut entries: Vec<_> = REGISTRY.values().collect();
    entries.sort_by_key(|entry| entry.name.name);
    entries
}

/// The declaration of the op with this name; ignores case.
pub fn find(dialect: Dialect, op_type: &str) -> Option<&'static Entry> {
    let exact = EXACT.get(&(dialect, op_type)).copied();
    exact.or_else(|| REGISTRY.get(&(dialect, op_type.to_ascii_lowercase())))
}

impl Op {
    /// Creates the op of a layer. A type that the dialect of the layer does not define becomes an opaque
    /// layer.
    ///
    /// # Errors
    /// If the operation set does not contain the op, or the op rejects its attributes.
    pub fn parse(raw: &mut RawNode) -> Result<Self, OpError> {
        let entry = find(raw.dialect, raw.op_type);
        if let Some(entry) = entry {
            entry.name.check(&raw.version)?;
        }
        let since = entry.and_then(|e| e.name.defining_opset(&raw.version));
        match (entry, since) {
            (Some(entry), Some(since)) => {
                raw.since = since;
                (entry.parse)(raw)
            }
            _ => Ok(Self::opaque(raw.op_type, std::mem::take(&mut raw.attrs).into_owned())),
        }
    }

    /// Creates an opaque layer, for a type that snick does not know.
    pub fn opaque(op_type: &str, attrs: Attrs<'static>) -> Self {
        Self::Opaque(Opaque { op_type: op_type.into(), attrs })
    }

    /// The operation type, as written in files.
    pub fn type_name(&self) -> &str {
        match (self.op_name(), self) {
            (Some(name), _) => name.name,
            (None, Self::Custom(op)) => op.op_type(),
            (None, Self::Opaque(op)) => &op.op_type,
            (None, _) => "",
        }
    }

    /// The dialect that defines the op.
    pub fn dialect(&self) -> Dialect {
        self.op_name().map_or(Dialect::OpenVino, |name| name.dialect)
    }

    /// The newest operation set that defines the op, for nodes that do not come from a file.
    pub fn default_version(&self) -> Version {
        if let Self::Custom(op) = self {
            return op.version();
        }
        self.op_name().map_or(Version::Unversioned, OpName::newest)
    }

    /// What kind of work the op does; [`Category::Other`] for a custom op or an opaque layer.
    pub fn category(&self) -> Category {
        self.op_name().map_or(Category::Other, |name| name.category)
    }

    /// Whether the op is an opaque layer, whose outputs are known only from the declared ports.
    pub fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque(_))
    }

    /// Whether snick itself defines the op, rather than a custom op or an opaque layer.
    pub fn is_builtin(&self) -> bool {
        self.op_name().is_some()
    }

    /// Whether the op has this property.
    pub fn has(&self, property: OpTraits) -> bool {
        self.traits().contains(property)
    }

    /// The bodies with their roles.
    pub fn bodies(&self) -> impl Iterator<Item = (&'static str, &Graph)> {
        let (roles, bodies) = match self {
            Self::SubGraph(op) => (op.roles(), op.bodies.as_slice()),
            _ => (&[][..], &[][..]),
        };
        roles.iter().copied().zip(bodies)
    }

    /// Mutable access to the bodies.
    pub fn bodies_mut(&mut self) -> &mut [Graph] {
        match self {
            Self::SubGraph(op) => &mut op.bodies,
            _ => &mut [],
        }
    }

    /// Takes the bodies out, so that the op and the graph that contains it can be borrowed together.
    pub(crate) fn take_bodies(&mut self) -> Vec<Graph> {
        match self {
            Self::SubGraph(op) => std::mem::take(&mut op.bodies),
            _ => Vec::new(),
        }
    }

    /// Restores the bodies removed by [`Op::take_bodies`].
    pub(crate) fn put_bodies(&mut self, bodies: Vec<Graph>) {
        if let Self::SubGraph(op) = self {
            op.bodies = bodies;
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_tensor::Tensor;

    use super::*;
    use crate::ops::{self, AutoBroadcast};

    /// Compares bits, so that NaN is compared too. Zeros with different signs are left out, because Maximum and
    /// Minimum may return either of them.
    #[test]
    fn commutative_ops_compute_the_same_in_both_orders() {
        let floats = [0.0f32, 0.5, 1.0, -2.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        let ints = [0i32, 1, -1, 7, i32::MAX, i32::MIN, 2, 3];
        let each = [
            Tensor::from_slice(&floats, &[8]).unwrap(),
            Tensor::from_slice(&ints, &[8]).unwrap(),
            Tensor::from_bools(&[2], &[false, true]).unwrap(),
        ];
        let mut names = Vec::new();
        for entry in reference() {
            let Ok(op) = Op::by_name(entry.name.name, Attrs::new()) else { continue };
            if !op.is_commutative() {
                continue;
            }
            names.push(entry.name.name);
            for column in &each {
                let row = column.unsqueeze(0).unwrap();
                let column = column.unsqueeze(1).unwrap();
                let both =
                    [[&row, &column], [&column, &row]].map(|inputs| op.eval(&inputs.map(Tensor::clone)).ok());
                assert_eq!(both[0], both[1], "{}", entry.name.name);
            }
        }
        names.sort_unstable();
        let expected = [
            "Add",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
            "Equal",
            "LogicalAnd",
            "LogicalOr",
            "LogicalXor",
            "Maximum",
            "Minimum",
            "Multiply",
            "NotEqual",
            "SquaredDifference",
            "Xor",
        ];
        assert_eq!(names, expected);
        let aligned = Op::from(ops::Add { broadcast: AutoBroadcast::Pdpd { axis: 0 } });
        assert!(!aligned.is_commutative(), "only input 1 is broadcast");
    }
}
