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
//! A line has the form `%name = Type-opset(inputs) {attributes} : types "tensor names"`. `%split:1` is the
//! second output. `opaque Type-opset` marks a layer that has the name of a known op but could not be read as
//! that op. Names other than plain words are quoted; the second node with a name is `%name~2`. Constants of
//! up to [`INLINE`] elements are written out; larger ones are represented by a digest of their bytes and, in
//! files, their offset in the `.bin` next to the text. The printed types are inferred; the parser reads them
//! as port declarations.

mod abbreviated;
mod escape;
mod lexer;
mod literal;
mod parse;
mod print;
mod syntax;

pub use abbreviated::{MOST_SHOWN, shortened};
pub use escape::{Escaped, is_invisible};
pub use lexer::{ParseError, comments};
pub use literal::digest;
pub use parse::{parse, parse_watched, parse_with};
pub use print::{PrintOptions, Weights, packed_weights, print, print_like};
pub use syntax::has_packed_weights;

/// The maximum number of elements of a constant that is written out.
pub const INLINE: usize = 16;

/// Marks a layer that has the name of an op but is not that op.
const OPAQUE: &str = "opaque";

/// Precedes the elements of a tensor attribute.
const TENSOR: &str = "tensor";

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints these lines as a graph, parses the text and prints it again.
    fn again(lines: &str) -> [String; 2] {
        let graph = parse(&format!("snick 1\ngraph \"g\" {{\n{lines}\n}}\n"), None).unwrap();
        let text = print(&graph, PrintOptions::new());
        let graph = parse(&text, None).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        [text, print(&graph, PrintOptions::new())]
    }

    #[test]
    fn what_is_printed_parses_back() {
        let deep = format!("info {} {}", "a {".repeat(250), "}".repeat(250));
        for lines in [
            r#"%c = opaque Const-"opset1$$" {shape: "2", element_type: f32, offset: "0"} : f32[2]"#,
            r#"%c = opaque Const-extension info "a b""#,
            "%x = Parameter-1 {element_type: f32, shape: \"1\"} %c = Const-1(%x, _) i64[1] <3>",
            r#"info a { b "" "c d" "" "e\u{0}f"(q="\u{1b}", "g h"="\n") "" "i j" "text" "k l" }"#,
            &deep,
        ] {
            let [first, second] = again(lines);
            assert_eq!(first, second);
            assert_eq!(first.contains("Const-1(%x"), lines.contains("Const-1(%x"), "{first}");
        }
        let graph = parse("snick 1\ngraph \"g\" {\ninfo a { b \"\" \"c d\" }\n}\n", None).unwrap();
        assert_eq!(graph.info[0].children.len(), 2);
    }

    /// Regression test: the lexer recursed for each comment.
    #[test]
    fn many_comments_are_skipped() {
        let text = format!("{}snick 1\ngraph \"g\" {{\n}}\n", "# c\n// d\n".repeat(200_000));
        assert!(parse(&text, None).unwrap().is_empty());
    }
}
