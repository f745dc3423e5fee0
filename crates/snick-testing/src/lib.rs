//! Tests of graph rewrites, for crates that write rules.
//!
//! A test is a graph in text form whose comments say what is run and what must come out:
//!
//! ```text
//! // RUN: snick canon --passes merge-slices --verify
//! // CHECK: slice(%x) {axes: [0], start: [3]
//! // CHECK-NOT: slice(
//! snick 1
//! graph "g" {
//!   ...
//! ```
//!
//! [`check_files!`] makes a `#[test]` of all such files in a folder; the rules of the own crate are known by the names
//! of their passes. [`before_after`] and [`diff`] are texts for snapshots (`insta::assert_snapshot!`): names are
//! stable, weights are digests, and no paths are in them.

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
