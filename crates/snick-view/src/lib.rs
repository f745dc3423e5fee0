//! Pictures of graphs.
//!
//! The layers of a graph are grouped in scopes (`scopes/`), from their names and from blocks of equal structure
//! (`repeats.rs`). A [`Scene`] of boxes and arrows (`scene.rs`) draws closed scopes as one box. The scene is
//! laid out (`layout/`) and drawn (`svg.rs`).
//!
//! A page (`page.rs`) contains the data of a model, and the viewer that shows it. The viewer is in `assets/`.
//!
//! ```
//! # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
//! #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
//! let mut graph = snick_ir::text::parse(text, None)?;
//! snick_ir::infer(&mut graph);
//! let picture = snick_view::svg(&graph, &snick_view::PictureOptions::new());
//! assert!(picture.starts_with("<svg") && picture.contains("f32[N,4]"));
//! # Ok::<(), snick_ir::text::ParseError>(())
//! ```

mod execution;
mod layout;
mod page;
mod repeats;
mod scene;
mod scopes;
mod svg;
mod viewer;

pub use page::page;
pub use scene::{BoxKind, PictureOptions, Scene, SceneArrow, SceneBox, SceneOutput};
pub use scopes::{Item, Scope, scopes};
pub use svg::svg;
pub use viewer::{viewer_script, viewer_style};
