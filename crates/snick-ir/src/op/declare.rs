//! Declarations of ops.
//!
//! From one declaration, `op!` generates the struct, parsing and printing of its attributes, its properties,
//! and its entry in the op reference. An attribute is declared once, with its name, type, default, operation
//! sets and meaning.
//!
//! ```ignore
//! op! {
//!     /// What the op computes.
//!     #[op("TopK", since = [1, 3, 11], inputs = Arity::exactly(2), category = Movement, traits = [PURE])]
//!     pub struct TopK {
//!         /// The definition that the layer uses; needed if an attribute has `since` or `until`.
//!         pub since: Since = Since(11),
//!         /// The axis; negative axes count from the end.
//!         pub axis: i64 = 0,          // optional, with a default
//!         /// Which elements are the best.
//!         pub mode: TopKMode,         // required
//!         /// Whether equal elements keep their order.
//!         #[since(11)]                // earlier definitions use the default
//!         pub stable: bool = false,
//!     }
//! }
//! ```
//!
//! `traits` may be followed by:
//!
//! - `weights = [PORTS]`: the inputs that hold weights if they are constant;
//! - `name = METHODS`: const methods of [`OpName`], such as `missing_in(2, 2)`;
//! - `check = FUNCTION`: a `fn(&Self, &RawNode) -> Result<(), OpError>` that validates all attributes
//!   together.
//!
//! Attributes may be marked with:
//!
//! - `#[since(11)]` or `#[until(8)]`: definitions before opset 11, or from opset 8 on, lack the attribute and
//!   use its default;
//! - `#[attr("exclude-pad" | "exclude_pad")]`: the name in files, which need not be a Rust identifier, and
//!   alternative spellings, which are parsed but never written.
//!
//! An op implements `Default` if all its fields have defaults. `attrs!` declares a group of attributes that
//! several ops share; each op holds the group in one field.

use std::borrow::Cow;
use std::sync::Arc;

use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::RawNode;
use crate::{AttrValue, Attrs, OpError};

/// A declared attribute of an op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttrSpec {
    /// The name of the attribute in files.
    pub name: &'static str,
    /// The type of the attribute: `integer`, `one of max, min`.
    pub kind: Cow<'static, str>,
    /// The default as written in files; `None` if the attribute is required or has no default.
    pub default: Option<String>,
    /// Whether the attribute is required.
    pub required: bool,
    /// The operation set of the first definition of the op with this attribute; 0 if all definitions have it.
    pub since: u8,
    /// The operation set of the first later definition without the attribute, if any.
    pub until: Option<u8>,
    /// What the attribute means.
    pub doc: &'static str,
}

impl AttrSpec {
    /// A required attribute.
    pub fn required(name: &'static str, kind: Cow<'static, str>, doc: &'static str) -> Self {
        Self { name, kind, default: None, required: true, since: 0, until: None, doc }
    }

    /// An optional attribute.
    pub fn optional(name: &'static str, kind: Cow<'static, str>, doc: &'static str) -> Self {
        Self { required: false, ..Self::required(name, kind, doc) }
    }
}

/// The operation set that contains the definition of the op that a layer uses.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Since(pub u8);

impl Since {
    /// Whether the definition comes from `opset` or a later operation set.
    pub fn at_least(self, opset: u8) -> bool {
        self.0 >= opset
    }
}

/// A type for declared fields: an attribute, a group of attributes, or [`Since`].
pub trait AttrField: Sized {
    /// The type of the attribute, for the op reference.
    fn kind() -> Cow<'static, str>;

    /// Parses the attribute; `None` if it is absent.
    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError>;

    /// The value to write as an attribute; `None` if the attribute should be absent.
    fn value(&self) -> Option<AttrValue<'static>>;

    /// Appends the attribute to `attrs`.
    fn write(&self, name: &'static str, attrs: &mut Attrs<'static>) {
        if let Some(value) = self.value() {
            attrs.push(Cow::Borrowed(name), value);
        }
    }

    /// Appends the declarations of the attribute, or of each attribute of a group, to `specs`.
    fn describe(spec: AttrSpec, specs: &mut Vec<AttrSpec>) {
        specs.push(AttrSpec { kind: Self::kind(), ..spec });
    }
}

/// The default of an attribute as written in files.
pub(crate) fn default_text(default: &impl AttrField) -> Option<String> {
    default.value().map(|value| match value {
        AttrValue::Text(text) => text.into_owned(),
        value => value.to_string(),
    })
}

impl AttrField for Since {
    fn kind() -> Cow<'static, str> {
        "".into()
    }

    fn parse(raw: &RawNode, _: &'static str) -> Result<Option<Self>, OpError> {
        Ok(Some(Self(raw.since)))
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        None
    }

    fn describe(_: AttrSpec, _: &mut Vec<AttrSpec>) {}
}

/// An optional attribute without a default.
impl<T: AttrField> AttrField for Option<T> {
    fn kind() -> Cow<'static, str> {
        T::kind()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        T::parse(raw, name).map(Some)
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        self.as_ref().and_then(T::value)
    }

    fn describe(spec: AttrSpec, specs: &mut Vec<AttrSpec>) {
        T::describe(AttrSpec { required: false, ..spec }, specs);
    }
}

macro_rules! attr_fields {
    ($($type:ty: $kind:literal, $getter:ident, |$value:ident| $write:expr;)*) => {$(
        impl AttrField for $type {
            fn kind() -> Cow<'static, str> {
                $kind.into()
            }

            fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
                raw.attrs.$getter(name)
            }

            fn value(&self) -> Option<AttrValue<'static>> {
                let $value = self;
                Some($write)
            }
        }
    )*};
}

attr_fields! {
    i64: "integer", int, |v| AttrValue::Int(*v);
    usize: "non-negative integer", size, |v| AttrValue::Int(*v as i64);
    f64: "number", float, |v| AttrValue::Float(*v);
    bool: "boolean", bool, |v| AttrValue::Bool(*v);
    SmallVector<i64, 4>: "integers", ints, |v| AttrValue::Ints(v.clone());
    SmallVector<usize, 4>: "non-negative integers", sizes, |v| AttrValue::from(v.as_slice());
    Vec<f64>: "numbers", floats, |v| AttrValue::Floats(v.clone());
    Vec<String>: "strings", texts, |v| AttrValue::Texts(v.clone());
    ElementType: "element type", element_type, |v| AttrValue::from(*v);
    ShapeSpec: "shape", shape, |v| AttrValue::from(v.to_string());
}

impl AttrField for String {
    fn kind() -> Cow<'static, str> {
        "string".into()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        Ok(raw.attrs.text(name)?.map(str::to_string))
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::from(self.clone()))
    }
}

impl AttrField for Arc<Tensor> {
    fn kind() -> Cow<'static, str> {
        "tensor".into()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        match raw.attrs.get(name) {
            None => Ok(None),
            Some(AttrValue::Tensor(tensor)) => Ok(Some(tensor.clone())),
            Some(_) => Err(raw.attrs.bad(name, "a tensor")),
        }
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::Tensor(self.clone()))
    }
}

/// An enum whose variants are words in files. Implemented by `attr_words!`.
pub trait AttrWords: Copy + PartialEq + 'static {
    /// Each word with its variant. The first word for a variant is the one written.
    const WORDS: &'static [(&'static str, Self)];

    /// The word written to files.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, variant)| *variant == self).map_or("", |(word, _)| word)
    }
}

impl<T: AttrWords> AttrField for T {
    fn kind() -> Cow<'static, str> {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        format!("one of {}", words.join(", ")).into()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        raw.attrs.choice(name, T::WORDS)
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::from(self.word()))
    }
}

/// Declares the word in files for each variant of an enum; `|` separates alternative spellings.
macro_rules! attr_words {
    ($type:ty { $($variant:ident = $word:literal $(| $alias:literal)*),* $(,)? }) => {
        impl $crate::op::AttrWords for $type {
            const WORDS: &'static [(&'static str, Self)] =
                &[$(($word, Self::$variant), $(($alias, Self::$variant),)*)*];
        }
    };
}

/// Internal rules that `op!` and `attrs!` share.
macro_rules! declared {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $attr:literal) => { $attr };

    (@or_default $name:expr,) => { return Err($crate::OpError::MissingAttribute { name: $name }) };
    (@or_default $name:expr, $default:expr) => { $default };

    (@default_text $type:ty,) => { (true, None) };
    (@default_text $type:ty, $default:expr) => {{
        let default: $type = $default;
        (false, $crate::op::declare::default_text(&default))
    }};

    (@until) => { None };
    (@until $until:literal) => { Some($until) };

    // The struct.
    (@struct $(#[doc = $doc:literal])* $vis:vis $op:ident { }) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $op;
    };
    (@struct $(#[doc = $doc:literal])* $vis:vis $op:ident { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty $(= $default:expr)?
    ),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $op { $($(#[doc = $meaning])* $fvis $field: $type,)+ }
    };

    // `Default`, if every field has a default.
    (@default $op:ident { }) => {
        impl Default for $op {
            fn default() -> Self {
                Self
            }
        }
    };
    (@default $op:ident { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty = $default:expr
    ),+ $(,)? }) => {
        impl Default for $op {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
    (@default $op:ident $fields:tt) => {};

    // Parses the fields of the struct from `raw`.
    (@parse $raw:ident { }) => {{
        let _ = $raw;
        Self
    }};
    (@parse $raw:ident { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty $(= $default:expr)?
    ),+ $(,)? }) => {
        Self { $($field: {
            const NAME: &str = declared!(@name $field $($attr)?);
            let is_defined = true $(&& $raw.since >= $since)? $(&& $raw.since < $until)?;
            let value = match is_defined {
                true => <$type as $crate::op::AttrField>::parse($raw, NAME)?
                    $($(.or(<$type as $crate::op::AttrField>::parse($raw, $alias)?))*)?,
                false => None,
            };
            match value {
                Some(value) => value,
                None => declared!(@or_default NAME, $($default)?),
            }
        },)+ }
    };

    // Writes the attributes of `this`.
    (@attrs $this:ident { }) => { $crate::Attrs::new() };
    (@attrs $this:ident { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty $(= $default:expr)?
    ),+ $(,)? }) => {{
        let mut attrs = $crate::Attrs::new();
        $(if true $(&& $this.since.at_least($since))? $(&& !$this.since.at_least($until))? {
            $crate::op::AttrField::write(&$this.$field, declared!(@name $field $($attr)?), &mut attrs);
        })+
        attrs
    }};

    // The declared attributes.
    (@specs { }) => { Vec::new() };
    (@specs { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty $(= $default:expr)?
    ),+ $(,)? }) => {{
        let mut specs = Vec::new();
        $({
            let (required, default) = declared!(@default_text $type, $($default)?);
            let spec = $crate::op::AttrSpec {
                name: declared!(@name $field $($attr)?),
                kind: "".into(),
                default,
                required,
                since: 0 $(+ $since)?,
                until: declared!(@until $($until)?),
                doc: concat!($($meaning, "\n"),*).trim_ascii(),
            };
            <$type as $crate::op::AttrField>::describe(spec, &mut specs);
        })+
        specs
    }};
}

/// Declares an op; see the top of this file.
macro_rules! op {
    (
        $(#[doc = $doc:literal])*
        #[op(
            $name:literal, since = [$($opset:literal),+], inputs = $arity:expr, category = $category:ident,
            traits = [$($trait:ident),*]
            $(, weights = [$($port:literal),+])?
            $(, name = $($method:ident($($argument:literal),*)).+)? $(, check = $check:expr)?
        )]
        $vis:vis struct $op:ident { $($fields:tt)* }
    ) => {
        declared!(@struct $(#[doc = $doc])* $vis $op { $($fields)* });
        declared!(@default $op { $($fields)* });

        impl $crate::OpDef for $op {
            const NAMES: &'static [$crate::OpName] =
                &[$crate::OpName::openvino($name, &[$($opset),+], $crate::Category::$category)
                    .doc(concat!($($doc, "\n"),*)) $($(.$method($($argument),*))+)?];
            const ARITY: $crate::Arity = $arity;
            const TRAITS: $crate::OpTraits = $crate::OpTraits::empty()$(.union($crate::OpTraits::$trait))*;
            $(const WEIGHTS: &'static [usize] = &[$($port),+];)?

            fn parse(raw: &$crate::RawNode) -> Result<Self, $crate::OpError> {
                let op = declared!(@parse raw { $($fields)* });
                $({
                    let check: fn(&Self, &$crate::RawNode) -> Result<(), $crate::OpError> = $check;
                    check(&op, raw)?;
                })?
                Ok(op)
            }

            fn attrs(&self) -> $crate::Attrs<'static> {
                declared!(@attrs self { $($fields)* })
            }

            fn attr_specs() -> Vec<$crate::op::AttrSpec> {
                declared!(@specs { $($fields)* })
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        #[op($($head:tt)*)]
        $vis:vis struct $op:ident;
    ) => {
        op! { $(#[doc = $doc])* #[op($($head)*)] $vis struct $op {} }
    };
}

/// Declares a group of attributes that several ops share; each op has the group as one field.
macro_rules! attrs {
    ($(#[doc = $doc:literal])* $vis:vis struct $group:ident { $($fields:tt)* }) => {
        declared!(@struct $(#[doc = $doc])* $vis $group { $($fields)* });
        declared!(@default $group { $($fields)* });

        impl $crate::op::AttrField for $group {
            fn kind() -> std::borrow::Cow<'static, str> {
                "".into()
            }

            fn parse(raw: &$crate::RawNode, _: &'static str) -> Result<Option<Self>, $crate::OpError> {
                Ok(Some(declared!(@parse raw { $($fields)* })))
            }

            fn value(&self) -> Option<$crate::AttrValue<'static>> {
                None
            }

            fn write(&self, _: &'static str, attrs: &mut $crate::Attrs<'static>) {
                attrs.extend(declared!(@attrs self { $($fields)* }));
            }

            fn describe(_: $crate::op::AttrSpec, specs: &mut Vec<$crate::op::AttrSpec>) {
                specs.extend(declared!(@specs { $($fields)* }));
            }
        }
    };
}
