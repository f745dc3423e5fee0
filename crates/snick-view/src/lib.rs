//! Pictures of graphs.
//!
//! A graph becomes a [`Scene`] of boxes and arrows (`scene.rs`), in which blocks of equal structure are
//! merged (`repeats.rs`). The scene is laid out (`layout.rs`) and drawn (`svg.rs`).
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

mod layout;
mod page;
mod repeats;
mod scene;
mod svg;

pub use page::{page, viewer_script, viewer_style};
pub use repeats::{Repeat, repeats};
pub use scene::{BoxKind, PictureOptions, Scene, SceneArrow, SceneBox, SceneOutput};
pub use svg::svg;
