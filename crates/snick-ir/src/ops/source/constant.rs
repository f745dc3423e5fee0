//! Const-1.

use std::sync::Arc;

use snick_shape::Shape;
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::attrs::missing;
use crate::{
    Arity, AttrField, AttrSpec, AttrValue, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, OpDef,
    OpError, OpName, OpTraits, RawNode,
};

/// A constant. A value read from a file shares the bytes of the file.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// The value.
    Here(Arc<Tensor>),
    /// The weights were not read, but type and shape are known.
    Absent(Box<Absent>),
}

/// A constant without its bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Absent {
    /// Element type.
    pub element_type: ElementType,
    /// Shape.
    pub dims: SmallVector<usize, 4>,
    /// Digest of the bytes, if the text form contains one.
    pub digest: Option<u64>,
    /// Whether the weights file ends before the last byte.
    pub is_truncated: bool,
}

impl Absent {
    /// Why the constant has no value.
    pub fn error(&self) -> OpError {
        match self.is_truncated {
            true => OpError::WeightsTruncated { why: "it lies beyond the end of the weights".into() },
            false => OpError::WeightsMissing { why: "its weights were not found".into() },
        }
    }
}

impl Constant {
    /// A constant with this value.
    pub fn new(tensor: Arc<Tensor>) -> Self {
        Self::Here(tensor)
    }

    /// A constant whose weights are absent.
    pub fn absent(element_type: ElementType, dims: SmallVector<usize, 4>, digest: Option<u64>) -> Self {
        Self::Absent(Box::new(Absent { element_type, dims, digest, is_truncated: false }))
    }

    /// Element type.
    pub fn element_type(&self) -> ElementType {
        match self {
            Self::Here(tensor) => tensor.element_type(),
            Self::Absent(absent) => absent.element_type,
        }
    }

    /// Shape.
    pub fn dims(&self) -> &[usize] {
        match self {
            Self::Here(tensor) => tensor.dims(),
            Self::Absent(absent) => &absent.dims,
        }
    }
}

impl OpDef for Constant {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("Const", &[1], Category::Source).doc("A tensor stored in the model."),
        OpName::openvino("Constant", &[1], Category::Source).doc("The name of Const in nGraph functions."),
    ];
    const ARITY: Arity = Arity::exactly(0);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::NO_ARITHMETIC);

    /// Reads `value` or, for absent weights, `element_type`, `shape` and optionally `digest`.
    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        if let Some(AttrValue::Tensor(tensor)) = attrs.get("value") {
            return Ok(Self::new(tensor.clone()));
        }
        let digest = match attrs.text("digest")? {
            Some(text) => {
                Some(u64::from_str_radix(text, 16).map_err(|_| attrs.bad("digest", "16 hex digits"))?)
            }
            None => None,
        };
        let element_type = attrs.element_type("element_type")?.ok_or(missing("element_type"))?;
        Ok(Self::absent(element_type, attrs.sizes("shape")?.ok_or(missing("shape"))?, digest))
    }

    fn attr_specs() -> Vec<AttrSpec> {
        vec![
            AttrSpec::optional("value", <Arc<Tensor>>::kind(), "The tensor."),
            AttrSpec::optional(
                "element_type",
                ElementType::kind(),
                "The element type, where the weights are absent.",
            ),
            AttrSpec::optional(
                "shape",
                <SmallVector<usize, 4>>::kind(),
                "The shape, where the weights are absent.",
            ),
            AttrSpec::optional("digest", String::kind(), "The digest of absent weights, in 16 hex digits."),
        ]
    }

    fn attrs(&self) -> Attrs<'static> {
        match self {
            Self::Here(tensor) => {
                let mut attrs = Attrs::new();
                attrs.push("value".into(), AttrValue::Tensor(tensor.clone()));
                attrs
            }
            Self::Absent(absent) => {
                let attrs = Attrs::new().with("element_type", absent.element_type);
                let attrs = attrs.with("shape", &absent.dims[..]);
                match absent.digest {
                    Some(digest) => attrs.with("digest", format!("{digest:016x}")),
                    None => attrs,
                }
            }
        }
    }
}

impl InferOp for Constant {
    fn infer(&self, _: &mut Infer) -> Result<Facts, OpError> {
        Ok(Facts::from(match self {
            Self::Here(tensor) => Fact::constant(tensor.clone()),
            Self::Absent(absent) => Fact::new(absent.element_type, Shape::from(&absent.dims[..])),
        }))
    }
}

impl EvalOp for Constant {
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match self {
            Self::Here(tensor) => Ok(vec![Tensor::clone(tensor)]),
            Self::Absent(absent) => Err(absent.error()),
        }
    }
}
