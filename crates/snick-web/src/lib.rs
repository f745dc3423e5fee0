//! The snick side of the browser page.
//!
//! A [`session::Session`] holds the models that the page shows. It is plain Rust, so its tests run anywhere.
//! `page/worker.js` calls it through `bindings.rs`, which is only compiled for WebAssembly.

pub mod files;
pub mod limits;
pub mod problem;
pub mod session;

#[cfg(target_arch = "wasm32")]
mod bindings;
