//! Op families: ops that differ only in the function that they apply, declared as a table.

/// Declares an op family: a struct that holds the function and the attributes shared by all ops of the
/// family. For each op, also declares its name and a type that converts to `Op`, as in
/// `ops::Add::default().into()`.
///
/// ```ignore
/// op_family! {
///     /// A function of the bits of two integers.
///     #[family(inputs = Arity::exactly(2), category = Elementwise, traits = [PURE, ELEMENTWISE])]
///     pub struct Bitwise(BitwiseOp) {
///         /// How the shapes of the inputs are combined.
///         pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
///     }
///     /// The bits set in both inputs.
///     BitwiseAnd: "BitwiseAnd", [13] => BitwiseOp::And;
/// }
/// ```
///
/// If the name alone does not determine the function, write `function = own` after the traits and implement
/// [`AttrField`](crate::AttrField) for the function. A row may have its own category, after its operation sets.
macro_rules! op_family {
    // Implements the conversion from the type of one op to `Op`.
    (@typed $family:ident $typed:ident $function:expr, { }) => {
        impl From<$typed> for $crate::Op {
            fn from(_: $typed) -> Self {
                $family { function: $function }.into()
            }
        }
    };
    (@typed $family:ident $typed:ident $function:expr, { $(
        $(#[doc = $meaning:literal])* $(#[since($since:literal)])? $(#[until($until:literal)])?
        $(#[attr($attr:literal $(| $alias:literal)*)])? $fvis:vis $field:ident: $type:ty $(= $default:expr)?
    ),+ $(,)? }) => {
        impl From<$typed> for $crate::Op {
            fn from(op: $typed) -> Self {
                $family { function: $function, $($field: op.$field,)+ }.into()
            }
        }
    };
    // The struct: the function and the attributes.
    (@struct $(#[doc = $doc:literal])* $family:ident($function:ty) { $($fields:tt)* }) => {
        declared! { @struct $(#[doc = $doc])* pub $family {
            /// The function that distinguishes the op.
            pub function: $function,
            $($fields)*
        } }
    };
    // Passes the fields of the struct to a rule of `declared!`.
    (@fields $function:ty { $($fields:tt)* } $($action:tt)*) => {
        declared!($($action)* { pub function: $function, $($fields)* })
    };
    // The category of an op: its row declares it, or else the family.
    (@category $family:ident) => { $crate::Category::$family };
    (@category $family:ident $own:ident) => { $crate::Category::$own };
    // The operation type determines the function, unless the family parses the function itself.
    (@function $family:ident($function:ty) own) => {};
    (@function $family:ident($function:ty)) => {
        impl $crate::AttrField for $function {
            fn kind() -> std::borrow::Cow<'static, str> {
                "".into()
            }

            fn parse(raw: &$crate::RawNode, _: &'static str) -> Result<Option<Self>, $crate::OpError> {
                Ok($family::named(raw.op_type))
            }

            fn value(&self) -> Option<$crate::AttrValue<'static>> {
                None
            }

            fn describe(_: $crate::AttrSpec, _: &mut Vec<$crate::AttrSpec>) {}
        }
    };
    (
        $(#[doc = $doc:literal])*
        #[family(inputs = $arity:expr, category = $category:ident, traits = [$($trait:ident),*] $(, function = $own:ident)?)]
        pub struct $family:ident($function:ty) $fields:tt
        $($(#[doc = $meaning:literal])* $typed:ident: $name:literal, [$($opset:literal),+] $(, $own_category:ident)? => $value:expr;)+
    ) => {
        op_family!(@struct $(#[doc = $doc])* $family($function) $fields);
        op_family!(@function $family($function) $($own)?);

        impl $family {
            /// The functions, in the order of `NAMES`.
            const FUNCTIONS: &'static [$function] = &[$($value),+];

            /// The function of an operation type.
            fn named(op_type: &str) -> Option<$function> {
                let names = <Self as $crate::OpDef>::NAMES;
                let row = names.iter().position(|name| name.name.eq_ignore_ascii_case(op_type))?;
                Some(Self::FUNCTIONS[row])
            }
        }

        impl $crate::OpDef for $family {
            const NAMES: &'static [$crate::OpName] = &[
                $($crate::OpName::openvino(
                    $name,
                    &[$($opset),+],
                    op_family!(@category $category $($own_category)?),
                )
                .doc(concat!($($meaning, "\n"),*))),+
            ];
            const ARITY: $crate::Arity = $arity;
            const TRAITS: $crate::OpTraits = $crate::OpTraits::empty()$(.union($crate::OpTraits::$trait))*;

            fn parse(raw: &$crate::RawNode) -> Result<Self, $crate::OpError> {
                Ok(op_family!(@fields $function $fields @parse raw))
            }

            fn attrs(&self) -> $crate::Attrs<'static> {
                op_family!(@fields $function $fields @attrs self)
            }

            fn attr_specs() -> Vec<$crate::AttrSpec> {
                op_family!(@fields $function $fields @specs)
            }

            fn name(&self) -> &'static $crate::OpName {
                let row = Self::FUNCTIONS.iter().position(|function| *function == self.function);
                &Self::NAMES[row.unwrap_or(0)]
            }
        }

        $(
            declared!(@struct $(#[doc = $meaning])* pub $typed $fields);
            declared!(@default $typed $fields);
            op_family!(@typed $family $typed $value, $fields);
        )+
    };
}
