//! Compiles and runs the Rust code of README.md and of the book in `docs/`.

macro_rules! pages {
    ($($name:ident $path:literal)*) => { $(#[doc = include_str!($path)] mod $name {})* };
}

pages! {
    readme "../../README.md"
    adding_an_op "../../docs/src/adding-an-op.md"
    architecture "../../docs/src/architecture.md"
    certificates "../../docs/src/certificates.md"
    command_line "../../docs/src/command-line.md"
    comparison "../../docs/src/comparison.md"
    editing "../../docs/src/editing.md"
    formats "../../docs/src/formats.md"
    glossary "../../docs/src/glossary.md"
    introduction "../../docs/src/introduction.md"
    ops "../../docs/src/ops.md"
    rewriting "../../docs/src/rewriting.md"
    shapes "../../docs/src/shapes.md"
    slices "../../docs/src/slices.md"
    testing "../../docs/src/testing.md"
}
