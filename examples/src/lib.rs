//! A crate with rewrites of its own and their tests, made to be copied: a rule is a file, its tests are in `tests/`.

mod lower_fancy_pad;
mod relu_once;

pub use lower_fancy_pad::lower_fancy_pad;
pub use relu_once::RELU_ONCE;

use snick::Pass;

/// The passes of this crate, by the names that commands use.
pub fn passes() -> Vec<Pass> {
    vec![Pass::new("relu-once", [RELU_ONCE]), Pass::new("lower-fancy-pad", [lower_fancy_pad(0.0)])]
}

#[cfg(doctest)]
mod book;
