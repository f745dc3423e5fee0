//! What the browser page asks of snick.
//!
//! A [`session::Session`] holds the models that the page shows. It is plain Rust, so that its tests run anywhere;
//! `bindings.rs`, which is compiled for WebAssembly alone, is how `page/worker.js` calls it.

pub mod files;
pub mod limits;
pub mod problem;
pub mod session;

#[cfg(target_arch = "wasm32")]
mod bindings;
