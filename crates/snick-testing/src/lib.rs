//! Tests of graph rewrites, for crates that write rules.
//!
//! A test is a graph in text form. Its comments contain a command to run, and checks on the output of the
//! command:
//!
//! ```text
//! // RUN: snick canon --passes merge-slices --verify
//! // CHECK: slice(%x) {axes: [0], start: [3]
//! // CHECK-NOT: slice(
//! // CHECK-TRACE: merge-slices slice b
//! snick 1
//! graph "g" {
//!   %x = Parameter-1 {element_type: f32, shape: "10"}
//!   %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}
//!   %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}
//!   %y = Result-1(%b)
//! }
//! ```
//!
//! [`check_files!`] turns each such file in a folder into a `#[test]`; its commands may use passes of your
//! own crate. [`Suite`] checks a text at run time. [`before_after`] and [`diff`] return text for snapshots
//! (`insta::assert_snapshot!`): names are stable, weights are printed as digests, and no paths occur.

mod before_after;
mod command;
mod diff;
mod directives;
mod error;
mod pattern;
mod suite;

use std::path::Path;

pub use before_after::before_after;
pub use diff::{Context, diff};
pub use directives::{Directive, DirectiveError, DirectiveFault, Directives, Unmet};
pub use error::CheckError;
pub use pattern::PatternError;
pub use suite::Suite;

#[doc(hidden)]
pub use snick_testing_macros::list_files as __list_files;

/// Declares a module with one test for each `.snick` file in a folder, whose path is relative to the crate.
/// Each test runs the checks in the comments of its file. The last argument is any list of passes that
/// commands may use in `--passes`, such as a `Vec<Pass>`, an array, or a call that returns one. It may also be
/// a [`Suite`], which has further settings: `Suite::new(passes()).registry(&registry).symbolic(true)`.
///
/// ```
/// use snick::Pass;
///
/// fn passes() -> Vec<Pass> {
///     Vec::new()
/// }
///
/// snick_testing::check_files!(rewrites, "tests/rewrites", passes());
/// # fn main() { passes(); }
/// ```
///
/// `cargo test` then lists `rewrites::merge_two_slices` for `tests/rewrites/merge_two_slices.snick`, and so
/// on. Changed files are recompiled. Files that were added since compilation are run by the test
/// `rewrites::files_added_since_compilation`.
#[macro_export]
macro_rules! check_files {
    ($tests:ident, $folder:literal $(,)?) => {
        $crate::check_files!($tests, $folder, ::core::iter::empty::<&$crate::__Pass>());
    };
    ($tests:ident, $folder:literal, $passes:expr $(,)?) => {
        $crate::__list_files! { [$crate] $tests $folder [$passes] }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __check_listed {
    ($tests:ident $suite:ident $folder:literal ($passes:expr) [$(($test:ident $file:literal $path:literal))*]) => {
        #[cfg(test)]
        fn $suite() -> $crate::Suite {
            $crate::__IntoSuite::into_suite($passes)
        }

        #[cfg(test)]
        mod $tests {
            $(
                #[test]
                fn $test() -> Result<(), $crate::CheckError> {
                    $crate::__check_file(&super::$suite(), $file, include_str!($path))
                }
            )*

            #[test]
            fn files_added_since_compilation() -> Result<(), $crate::CheckError> {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder);
                $crate::__check_others(&super::$suite(), folder, &[$($file),*])
            }
        }
    };
}

#[doc(hidden)]
pub use suite::IntoSuite as __IntoSuite;

#[doc(hidden)]
pub use snick_pass::Pass as __Pass;

#[doc(hidden)]
pub fn __check_file(suite: &Suite, file: &str, text: &str) -> Result<(), CheckError> {
    suite.check_text(text).map_err(|error| error.of(file))
}

#[doc(hidden)]
pub fn __check_others(suite: &Suite, folder: &str, listed: &[&str]) -> Result<(), CheckError> {
    suite.check_others(Path::new(folder), listed)
}
