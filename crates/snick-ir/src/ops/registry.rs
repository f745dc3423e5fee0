//! From one list of ops to the enum, its dispatch, and the look-up by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::control::opaque::Opaque;
use super::{Op, opsets};
use crate::op::{Dialect, OpName, RawNode, Version};
use crate::{Attrs, Graph, OpError};

/// Makes the enum of all ops, its dispatch and its registry out of one list.
macro_rules! ops {
    ($($variant:ident($type:ty)),* $(,)?) => {
        /// Every op snick knows, and [`Opaque`] for the rest.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs, reason = "each variant's type says what it is")]
        pub enum Op {
            $($variant($type),)*
            Opaque(Opaque),
        }

        $(impl From<$type> for Op {
            fn from(op: $type) -> Self {
                Self::$variant(op)
            }
        })*

        impl Op {
            /// The name entry; `None` for an opaque layer.
            fn op_name(&self) -> Option<&'static OpName> {
                match self {
                    $(Self::$variant(op) => Some(op.name()),)*
                    Self::Opaque(_) => None,
                }
            }

            /// Attributes as the op writes them.
            pub fn attrs(&self) -> Attrs<'static> {
                match self {
                    $(Self::$variant(op) => op.attrs(),)*
                    Self::Opaque(op) => op.attrs.clone(),
                }
            }

            /// How many inputs it takes.
            pub fn arity(&self) -> Arity {
                match self {
                    $(Self::$variant(_) => <$type>::ARITY,)*
                    Self::Opaque(_) => Opaque::ARITY,
                }
            }

            /// Facts of the outputs.
            pub fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                match self {
                    $(Self::$variant(op) => op.infer(cx),)*
                    Self::Opaque(op) => op.infer(cx),
                }
            }

            /// The outputs for concrete inputs; the driver has checked their number.
            pub fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                self.arity().check(inputs.len())?;
                match self {
                    $(Self::$variant(op) => op.eval(inputs),)*
                    Self::Opaque(op) => op.eval(),
                }
            }

            /// The op without outputs at its end that nobody reads, where that saves work.
            pub fn prune_outputs(&self, is_read: &[bool]) -> Option<Self> {
                match self {
                    $(Self::$variant(op) => op.prune_outputs(is_read).map(Self::$variant),)*
                    Self::Opaque(_) => None,
                }
            }

            /// The op to run in place of this one, given what is known of its inputs before any run.
            pub fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
                match self {
                    $(Self::$variant(op) => op.specialize(inputs).map(Self::$variant),)*
                    Self::Opaque(_) => None,
                }
            }

            /// The function of elements that the op is, given what is known of its inputs before any run.
            pub fn element_function(&self, inputs: &[&Fact]) -> Option<ElementFunction> {
                match self {
                    $(Self::$variant(op) => op.element_function(inputs),)*
                    Self::Opaque(_) => None,
                }
            }

            /// The rewrite to the primitive, if the op is slice-like.
            pub fn lower(&self, cx: &mut Patch) -> Result<RewriteResult, OpError> {
                match self {
                    $(Self::$variant(op) => op.lower(cx),)*
                    Self::Opaque(_) => Ok(RewriteResult::NoMatch),
                }
            }
        }

        /// Every name of every op, with the function that parses it.
        fn entries() -> Vec<Entry> {
            let mut entries = Vec::new();
            $(for name in <$type>::NAMES {
                entries.push(Entry { name, parse: |raw| <$type>::parse(raw).map(Op::$variant) });
            })*
            entries
        }
    };
}

/// One name of one op.
pub(super) struct Entry {
    pub(super) name: &'static OpName,
    pub(super) parse: fn(&RawNode) -> Result<Op, OpError>,
}

/// Names by dialect and lower-case type: OpenVINO's reader ignores the case of type names.
static REGISTRY: LazyLock<HashMap<(Dialect, String), Entry>> = LazyLock::new(|| {
    let entries = super::entries().into_iter();
    entries.map(|e| ((e.name.dialect, e.name.name.to_ascii_lowercase()), e)).collect()
});

/// The same with the spelling of the op's own file, which nearly every model uses: no lower-casing a layer.
static EXACT: LazyLock<HashMap<(Dialect, &'static str), &'static Entry>> =
    LazyLock::new(|| REGISTRY.iter().map(|((dialect, _), e)| ((*dialect, e.name.name), e)).collect());

/// All names of all ops, sorted: what the coverage of snick is told from.
pub fn known_names() -> Vec<&'static OpName> {
    let mut names: Vec<_> = REGISTRY.values().map(|e| e.name).collect();
    names.sort_by_key(|n| n.name);
    names
}

impl Op {
    /// Makes the op of a layer. A type that snick does not know, or knows not of this origin, gives an opaque layer.
    ///
    /// # Errors
    /// An operation set that does not contain the op, and what the op says of its attributes.
    pub fn parse(raw: &mut RawNode) -> Result<Self, OpError> {
        let exact = EXACT.get(&(raw.dialect, raw.op_type)).copied();
        let entry = exact.or_else(|| REGISTRY.get(&(raw.dialect, raw.op_type.to_ascii_lowercase())));
        if let Some(entry) = entry {
            opsets::check(entry.name, &raw.version)?;
        }
        let since = entry.and_then(|e| defining_opset(e.name, &raw.version));
        match (entry, since) {
            (Some(entry), Some(since)) => {
                raw.since = since;
                (entry.parse)(raw)
            }
            _ => Ok(Self::opaque(raw.op_type, std::mem::take(&mut raw.attrs).into_owned())),
        }
    }

    /// A layer kept whole.
    pub fn opaque(op_type: &str, attrs: Attrs<'static>) -> Self {
        Self::Opaque(Opaque { op_type: op_type.into(), attrs })
    }

    /// Operation type, as files write it.
    pub fn type_name(&self) -> &str {
        match (self.op_name(), self) {
            (Some(name), _) => name.name,
            (None, Self::Opaque(op)) => &op.op_type,
            (None, _) => "",
        }
    }

    /// Who defines the op.
    pub fn dialect(&self) -> Dialect {
        self.op_name().map_or(Dialect::OpenVino, |name| name.dialect)
    }

    /// The newest operation set that defines the op: for nodes that no file declares.
    pub fn default_version(&self) -> Version {
        match self.op_name().and_then(|name| name.since.last()) {
            Some(&opset) => Version::Opset(opset),
            None => Version::Unversioned,
        }
    }

    /// Whether the declared ports are all that is known of the outputs.
    pub fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque(_))
    }

    /// Whether the node stays though nobody reads it.
    pub fn is_root(&self) -> bool {
        match self {
            Self::Parameter(_) | Self::Result(_) | Self::Opaque(_) | Self::Assign(_) => true,
            Self::SubGraph(op) => op.assigns(),
            _ => false,
        }
    }

    /// Whether equal constant inputs always give equal outputs, whoever runs it.
    pub fn is_foldable(&self) -> bool {
        let by_chance = matches!(self, Self::Multinomial(_) | Self::RandomUniform(_));
        !by_chance
            && !matches!(self, Self::Opaque(_) | Self::SubGraph(_) | Self::Assign(_) | Self::ReadValue(_))
    }

    /// Whether the op does nothing with the elements of its one value but move them.
    pub fn moves_elements(&self) -> bool {
        matches!(
            self,
            Self::Slice(_)
                | Self::Slice8(_)
                | Self::StridedSlice(_)
                | Self::Split(_)
                | Self::VariadicSplit(_)
                | Self::Gather(_)
                | Self::Reshape(_)
                | Self::Squeeze(_)
                | Self::Unsqueeze(_)
                | Self::Transpose(_)
                | Self::Broadcast(_)
                | Self::Tile(_)
        )
    }

    /// The bodies with their roles.
    pub fn bodies(&self) -> impl Iterator<Item = (&'static str, &Graph)> {
        let (roles, bodies) = match self {
            Self::SubGraph(op) => (op.roles(), op.bodies.as_slice()),
            _ => (&[][..], &[][..]),
        };
        roles.iter().copied().zip(bodies)
    }

    /// The bodies, to change them.
    pub fn bodies_mut(&mut self) -> &mut [Graph] {
        match self {
            Self::SubGraph(op) => &mut op.bodies,
            _ => &mut [],
        }
    }

    /// Takes the bodies out, while the op is looked at together with the graph it stands in.
    pub(crate) fn take_bodies(&mut self) -> Vec<Graph> {
        match self {
            Self::SubGraph(op) => std::mem::take(&mut op.bodies),
            _ => Vec::new(),
        }
    }

    /// Puts back what [`Op::take_bodies`] took.
    pub(crate) fn put_bodies(&mut self, bodies: Vec<Graph>) {
        if let Self::SubGraph(op) = self {
            op.bodies = bodies;
        }
    }
}

/// The last definition not above the declared operation set; `None` if there is none.
fn defining_opset(name: &OpName, declared: &Version) -> Option<u8> {
    match declared {
        Version::Opset(declared) => name.since.iter().rev().find(|since| *since <= declared).copied(),
        Version::Unversioned => Some(name.since.last().copied().unwrap_or(0)),
        // Ops that files had before an operation set took them in, opset6 at last.
        Version::Custom(text) if matches!(&**text, "experimental" | "extension") => {
            let old = ["GRUCell", "RNNCell", "Proposal"].contains(&name.name)
                || name.name.starts_with("ExperimentalDetectron");
            name.since.iter().rev().find(|since| old && **since <= 6).copied()
        }
        Version::Custom(_) => None,
    }
}
