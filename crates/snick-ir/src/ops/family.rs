//! Types for the ops of a family, so that each can be built by its own name.

/// Makes a type of each op of a family: a struct of the family's attributes that converts to an [`Op`](super::Op).
macro_rules! typed_names {
    ($family:ident { $key:ident } $($name:ident = $function:expr),* $(,)?) => {$(
        #[doc = concat!("The op ", stringify!($name), " of [`", stringify!($family), "`], to build it.")]
        #[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
        pub struct $name;

        impl From<$name> for $crate::Op {
            fn from(_: $name) -> Self {
                $family { $key: $function }.into()
            }
        }
    )*};
    ($family:ident { $key:ident, $attr:ident: $type:ty } $($name:ident = $function:expr),* $(,)?) => {$(
        #[doc = concat!("The op ", stringify!($name), " of [`", stringify!($family), "`], to build it.")]
        #[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
        pub struct $name {
            #[doc = concat!("As in [`", stringify!($family), "`].")]
            pub $attr: $type,
        }

        impl From<$name> for $crate::Op {
            fn from(op: $name) -> Self {
                $family { $key: $function, $attr: op.$attr }.into()
            }
        }
    )*};
}
