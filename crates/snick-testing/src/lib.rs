//! Tests of graph rewrites, for crates that write rules.
//!
//! A test is a graph in text form. Its comments give a command and checks of its output:
//!
//! ```
//! use snick_testing::Suite;
//!
//! let test = r#"
//! // RUN: snick canon --passes merge-slices --verify
//! // CHECK: slice(%x) {axes: [0], start: [3]
//! // CHECK-NOT: slice(
//! snick 1
//! graph "g" {
//!   %x = Parameter-1 {element_type: f32, shape: "10"}
//!   %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}
//!   %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}
//!   %y = Result-1(%b)
//! }
//! "#;
//! Suite::new(&[]).check_text(test)?;
//! # Ok::<(), snick_testing::CheckError>(())
//! ```
//!
//! [`check_files!`] makes one `#[test]` of all such files in a folder, and takes the passes of your own crate.
//! [`before_after`] and [`diff`] return text for snapshots (`insta::assert_snapshot!`): names are stable, weights are
//! digests, and no paths occur.

mod diff;
mod directives;
mod suite;

pub use diff::diff;
pub use directives::{Directive, Directives, Unmet};
pub use suite::{CheckError, Suite, before_after};

/// A `#[test]` named `$test` that holds every `.snick` file of a folder, given relative to the crate, to the checks in
/// its comments. Passes of the own crate come last; their names may stand behind `--passes`.
///
/// ```
/// snick_testing::check_files!(rewrites, "tests/rewrites");
/// ```
#[macro_export]
macro_rules! check_files {
    ($test:ident, $folder:expr $(, $pass:expr)* $(,)?) => {
        #[test]
        fn $test() {
            let folder = ::std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join($folder);
            let checked = $crate::Suite::new(&[$($pass),*]).check_folder(&folder);
            if let Err(error) = checked {
                panic!("{error}");
            }
        }
    };
}
