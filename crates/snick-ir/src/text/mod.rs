//! The text form: prints a graph and reads it back to the identical graph.
//!
//! ```text
//! snick 1
//! graph "crop" {
//!   %x = Parameter-1 {element_type: f32, shape: "1,3,?,?"} : f32[1,3,?,?] "x"
//!   %begin = Const-1 i64[4] <0, 0, 1, 1>
//!   %w = Const-1 f32[64,3,3,3] #5f0a6c1d22e49b07@4096
//!   %crop = StridedSlice-1(%x, %begin, %end) {begin_mask: [1,1,0,0], ...} : f32[1,3,?,?]
//!   %y = Result-1(%crop) : f32[1,3,?,?]
//! }
//! ```
//!
//! A line has the form `%name = Type-opset(inputs) {attributes} : types "tensor names"`. `%split:1` is the second
//! output. `opaque Type-opset` is a layer of the name of an op that is not that op: what a reader could not read as one.
//! Other names than plain words are quoted; the second node of a name is `%name~2`. Constants of up to
//! [`INLINE`] elements are written out; larger ones are a digest of their bytes and, in files, their offset in the
//! `.bin` beside the text. The types are the inferred ones; the parser reads them as declared ports.

mod escape;
mod lexer;
mod literal;
mod parse;
mod print;
mod syntax;

pub use escape::{Escaped, is_invisible};
pub use lexer::ParseError;
pub use literal::digest;
pub use parse::{parse, parse_watched, parse_with};
pub use print::{PrintOptions, Weights, packed_weights, print};

/// The maximum number of elements of constants that are written out.
pub const INLINE: usize = 16;

/// The word before the type of a layer that is not the op of that name.
const OPAQUE: &str = "opaque";

/// The word before the elements of an attribute that is a tensor.
const TENSOR: &str = "tensor";

/// The alignment of weights in the `.bin` beside a text, in bytes.
pub const ALIGNMENT: usize = 64;
