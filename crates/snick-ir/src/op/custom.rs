//! Custom ops of users and vendors, which snick infers, prints, rewrites and runs like its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use snick_tensor::Tensor;

use super::{RawNode, Version};
use crate::rewrite::{Patch, RewriteResult};
use crate::{Arity, Attrs, Facts, Infer, Op, OpError, OpTraits};

/// An op defined by a user. After [`Registry::register`], readers and the text parser create it.
///
/// ```
/// use std::sync::Arc;
/// use snick::{infer, text, Arity, Attrs, CustomOp, Fact, Facts, Infer, OpError, Registry, Shape};
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
    /// The number of inputs. Checked before any other method is called.
    fn arity(&self) -> Arity;

    /// The attributes as written to files. Ops of the same type with equal attributes are equal. Empty by
    /// default; an op created by a [`Registry`] then keeps the attributes of its layer as they are in the
    /// file.
    fn attrs(&self) -> Attrs<'static> {
        Attrs::new()
    }

    /// The properties of the op that inference, passes and runs rely on. By default, the outputs depend only
    /// on the inputs.
    fn traits(&self) -> OpTraits {
        OpTraits::PURE
    }

    /// Whether the op has two inputs and swapping them changes nothing. `false` by default.
    fn is_commutative(&self) -> bool {
        false
    }

    /// Element types, shapes and known elements of the outputs. They must hold in every run: a value with
    /// another type or shape is an error.
    ///
    /// # Errors
    /// If the inputs are invalid.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError>;

    /// The outputs for concrete inputs, whose number matches [`CustomOp::arity`]. Returns one value for each
    /// fact of [`CustomOp::infer`].
    ///
    /// # Errors
    /// If the inputs are invalid. By default [`OpError::NoImplementation`]; the op then runs through its
    /// decomposition, if any.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let _ = inputs;
        Err(OpError::NoImplementation { op_type: String::new() })
    }

    /// Expresses the op in ops of snick, for writers and for runs without [`CustomOp::eval`]. Optional.
    ///
    /// # Errors
    /// Errors of the builder.
    fn decompose(&self, b: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        let _ = b;
        Ok(RewriteResult::NoMatch)
    }
}

/// A custom op in a graph: its names in files, and its definition.
///
/// ```
/// use snick::{Arity, Custom, CustomOp, Facts, Infer, OpError};
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
    /// The operation set: the `version` of an OpenVINO layer, or the domain of an ONNX node.
    opset: Arc<str>,
    op_type: Arc<str>,
    op: Arc<dyn CustomOp>,
    /// The attributes of the layer in the file; `None` if the op was created in code.
    raw: Option<Arc<Attrs<'static>>>,
}

impl Custom {
    /// An op of this type and operation set.
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

    /// The attributes: [`CustomOp::attrs`] or, if it returns none, the attributes of the layer in the file.
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

    /// Calls [`CustomOp::infer`], and rejects negative dims and symbols of other graphs.
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

    /// Calls [`CustomOp::eval`].
    ///
    /// # Errors
    /// Errors of the definition. [`OpError::NoImplementation`] names the operation type.
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
        // Ops created in code may omit their attributes. Such ops are known to be equal only if they share
        // their definition.
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

/// The ops that readers and the text parser know: snick's own and registered ones. Cheap to clone.
///
/// ```
/// use snick::{Arity, CustomOp, Facts, Infer, OpError, Registry};
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
    /// By operation set and type.
    custom: Arc<BTreeMap<(String, String), Arc<Factory>>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.custom.keys()).finish()
    }
}

impl Registry {
    /// Only snick's own ops.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// Adds an op: `opset` is the `version` of its layers in OpenVINO IR and the domain of its nodes in ONNX.
    /// Replaces an earlier registration and, if `opset` is an operation set of OpenVINO, snick's own op.
    /// `define` creates the op from the attributes of a layer.
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

    /// The registered op of a layer, if any.
    ///
    /// # Errors
    /// If the definition of the op rejects the attributes.
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

    /// Creates the op of a layer: a registered one, or the result of [`Op::parse`].
    ///
    /// # Errors
    /// Same as [`Op::parse`], or if the definition of a registered op rejects the attributes.
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
