//! A crate with its own rewrites and their tests, as a template: each rule is a file, and the tests are in
//! `tests/`.

mod lower_fancy_pad;
mod relu_once;

pub use lower_fancy_pad::lower_fancy_pad;
pub use relu_once::RELU_ONCE;

use snick::Pass;

/// The passes of this crate, by their names in commands.
pub fn passes() -> Vec<Pass> {
    vec![Pass::new("relu-once", [RELU_ONCE]), Pass::new("lower-fancy-pad", [lower_fancy_pad(0.0)])]
}

#[cfg(doctest)]
mod book;
