//! Custom ops: ops of users and vendors, which snick infers, prints, rewrites and runs like its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use snick_tensor::Tensor;

use super::{RawNode, Version};
use crate::rewrite::{Patch, RewriteResult};
use crate::{Arity, Attrs, Facts, Infer, Op, OpError, OpTraits};

/// An op that a user defines. [`Registry::register`] makes readers and the text parser create it.
///
/// ```
/// use std::sync::Arc;
/// use snick_ir::{Arity, Attrs, CustomOp, Fact, Facts, Infer, OpError, Registry, infer, text};
/// use snick_shape::Shape;
///
/// /// Appends `by` elements to the last axis.
/// #[derive(Debug)]
/// struct FancyPad {
///     by: i64,
/// }
///
/// impl CustomOp for FancyPad {
///     fn arity(&self) -> Arity {
///         Arity::exactly(1)
///     }
///
///     fn attrs(&self) -> Attrs<'static> {
///         Attrs::new().with("by", self.by)
///     }
///
///     fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
///         let data = cx.input(0);
///         let Some(dims) = data.shape().dims() else {
///             return Ok(Facts::from(Fact::new(data.element_type(), Shape::unranked())));
///         };
///         let mut dims = dims.to_vec();
///         if let Some(last) = dims.last_mut() {
///             *last = cx.add(last, &self.by.into());
///         }
///         Ok(Facts::from(Fact::new(data.element_type(), Shape::ranked(dims))))
///     }
/// }
///
/// let mut registry = Registry::builtin();
/// registry.register("my.ops", "FancyPad", |raw| {
///     Ok(Arc::new(FancyPad { by: raw.attrs().int("by")?.unwrap_or(1) }))
/// });
/// let text = r#"snick 1
/// graph "pad" {
///   %x = Parameter-1 {element_type: f32, shape: "N,6"}
///   %p = FancyPad-"my.ops"(%x) {by: 4}
///   %y = Result-1(%p)
/// }
/// "#;
/// let mut graph = text::parse_with(text, None, &registry)?;
/// assert!(infer(&mut graph).is_empty());
/// let result = graph.results().next().unwrap();
/// let shape = graph.node(result).outputs().next().unwrap().shape();
/// assert_eq!(shape.display(graph.symbols()).to_string(), "[N,10]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait CustomOp: fmt::Debug + Send + Sync + 'static {
    /// How many inputs it takes. Checked before any other method is called.
    fn arity(&self) -> Arity;

    /// The attributes as files have them. Two ops of one type with equal attributes are equal. By default there are
    /// none of its own: then an op that [`Registry`] makes has the attributes of its layer, as the file has them.
    fn attrs(&self) -> Attrs<'static> {
        Attrs::new()
    }

    /// What drivers may assume of it: by default that the outputs depend on the inputs alone.
    fn traits(&self) -> OpTraits {
        OpTraits::PURE
    }

    /// Element types, shapes and known elements of the outputs. They must hold in every run: values of another type or
    /// shape are an error of the run.
    ///
    /// # Errors
    /// What is wrong with the inputs.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError>;

    /// The outputs for concrete inputs, as many as [`CustomOp::arity`] allows. There must be one value for each fact
    /// of [`CustomOp::infer`].
    ///
    /// # Errors
    /// What is wrong with the inputs; by default [`OpError::NoImplementation`]: then the op runs if it decomposes.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let _ = inputs;
        Err(OpError::NoImplementation { op_type: String::new() })
    }

    /// The same in ops that snick has: writers, and runs if there is no [`CustomOp::eval`], use it. By default there is
    /// no such way.
    ///
    /// # Errors
    /// What the builder says.
    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        let _ = b;
        Ok(RewriteResult::NoMatch)
    }
}

/// A custom op in a graph: what files call it, and its definition.
///
/// ```
/// use snick_ir::{Arity, Custom, CustomOp, Facts, Infer, OpError};
/// use std::sync::Arc;
///
/// #[derive(Debug)]
/// struct Identity;
///
/// impl CustomOp for Identity {
///     fn arity(&self) -> Arity {
///         Arity::exactly(1)
///     }
///
///     fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
///         Ok(cx.input(0).clone().into())
///     }
/// }
///
/// let op = Custom::new("my.ops", "Identity", Arc::new(Identity));
/// assert_eq!((op.opset(), op.op_type()), ("my.ops", "Identity"));
/// ```
#[derive(Clone, Debug)]
pub struct Custom {
    /// The operation set: the `version` of a layer of an OpenVINO IR, the domain of an ONNX node.
    opset: Arc<str>,
    op_type: Arc<str>,
    op: Arc<dyn CustomOp>,
    /// The attributes of the layer that the op was made of; `None` if it was made in code.
    raw: Option<Arc<Attrs<'static>>>,
}

impl Custom {
    /// The op of a type in an operation set.
    pub fn new(opset: impl Into<Arc<str>>, op_type: impl Into<Arc<str>>, op: Arc<dyn CustomOp>) -> Self {
        Self { opset: opset.into(), op_type: op_type.into(), op, raw: None }
    }

    /// The operation set.
    pub fn opset(&self) -> &str {
        &self.opset
    }

    /// The operation type.
    pub fn op_type(&self) -> &str {
        &self.op_type
    }

    /// The definition.
    pub fn definition(&self) -> &dyn CustomOp {
        &*self.op
    }

    /// The attributes: [`CustomOp::attrs`], or those of the layer if the definition has none.
    pub fn attrs(&self) -> Attrs<'static> {
        let own = self.op.attrs();
        match &self.raw {
            Some(raw) if own.is_empty() => Attrs::clone(raw),
            _ => own,
        }
    }

    /// The operation set as the version of a layer.
    pub(crate) fn version(&self) -> Version {
        Version::from_ir(&self.opset)
    }

    /// [`CustomOp::infer`]; dims that are negative, and symbols of another table, are errors.
    pub(crate) fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        let facts = self.op.infer(cx)?;
        for (port, fact) in facts.iter().enumerate() {
            if !fact.exprs().all(|expr| cx.known_symbols().owns(expr)) {
                return Err(OpError::ForeignSymbol { what: format!("output {port}") });
            }
            for (axis, dim) in fact.shape.dims().unwrap_or_default().iter().enumerate() {
                let most = cx.interval(dim).hi();
                if most < 0 {
                    let what = format!("dim {axis} of output {port}");
                    return Err(OpError::out_of_range(what, most, "0 or more"));
                }
            }
        }
        Ok(facts)
    }

    /// [`CustomOp::eval`].
    ///
    /// # Errors
    /// What the definition says; [`OpError::NoImplementation`] with the operation type if it has no implementation.
    pub fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.op.eval(inputs).map_err(|error| match error {
            OpError::NoImplementation { op_type } if op_type.is_empty() => {
                OpError::NoImplementation { op_type: self.op_type.to_string() }
            }
            error => error,
        })
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        if self.op_type != other.op_type || self.opset != other.opset {
            return false;
        }
        let (attrs, others) = (self.attrs(), other.attrs());
        // Ops made in code may leave out their attributes: then only one and the same definition is known to be equal.
        let known = !attrs.is_empty() || (self.raw.is_some() && other.raw.is_some());
        Arc::ptr_eq(&self.op, &other.op) || (known && attrs == others)
    }
}

impl From<Custom> for Op {
    fn from(op: Custom) -> Self {
        Self::Custom(op)
    }
}

type Factory = dyn Fn(&RawNode<'_>) -> Result<Arc<dyn CustomOp>, OpError> + Send + Sync;

/// The ops that readers and the text parser know: those of snick, and registered ones. Cloning it is cheap.
///
/// ```
/// use snick_ir::{Arity, CustomOp, Facts, Infer, OpError, Registry};
/// use std::sync::Arc;
///
/// #[derive(Debug)]
/// struct Identity;
///
/// impl CustomOp for Identity {
///     fn arity(&self) -> Arity {
///         Arity::exactly(1)
///     }
///
///     fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
///         Ok(cx.input(0).clone().into())
///     }
/// }
///
/// let mut registry = Registry::builtin();
/// registry.register("my.ops", "Identity", |_| Ok(Arc::new(Identity)));
/// assert!(!registry.is_builtin());
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    /// By operation set and operation type.
    custom: Arc<BTreeMap<(String, String), Arc<Factory>>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.custom.keys()).finish()
    }
}

impl Registry {
    /// The ops of snick.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Adds an op: `opset` is the `version` of its layers in OpenVINO IR and the domain of its nodes in ONNX. A later
    /// definition replaces an earlier one, and one of snick's own if it names an operation set of OpenVINO. `define`
    /// makes the op of a layer, from its attributes.
    pub fn register(
        &mut self,
        opset: impl Into<String>,
        op_type: impl Into<String>,
        define: impl Fn(&RawNode<'_>) -> Result<Arc<dyn CustomOp>, OpError> + Send + Sync + 'static,
    ) -> &mut Self {
        Arc::make_mut(&mut self.custom).insert((opset.into(), op_type.into()), Arc::new(define));
        self
    }

    /// Whether nothing is registered.
    pub fn is_builtin(&self) -> bool {
        self.custom.is_empty()
    }

    /// The registered op of a layer, if there is one.
    ///
    /// # Errors
    /// What its definition says of the attributes.
    pub fn custom(&self, opset: &str, raw: &RawNode<'_>) -> Result<Option<Op>, OpError> {
        if self.is_builtin() {
            return Ok(None);
        }
        let key = (opset.to_string(), raw.op_type.to_string());
        let Some(define) = self.custom.get(&key) else { return Ok(None) };
        let (opset, op_type) = key;
        let op = define(raw)?;
        if op.attrs().is_empty() {
            raw.attrs.mark_all_read();
        }
        let attrs = raw.attrs.clone().into_owned();
        Ok(Some(Custom { raw: Some(Arc::new(attrs)), ..Custom::new(opset, op_type, op) }.into()))
    }

    /// Makes the op of a layer: a registered one, or as [`Op::parse`].
    ///
    /// # Errors
    /// As [`Op::parse`], and what the definition of a registered op says of the attributes.
    pub fn parse(&self, raw: &mut RawNode<'_>) -> Result<Op, OpError> {
        match self.is_builtin() {
            true => Op::parse(raw),
            false => match self.custom(&raw.version.to_string(), raw)? {
                Some(op) => Ok(op),
                None => Op::parse(raw),
            },
        }
    }
}
