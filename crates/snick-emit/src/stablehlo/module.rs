//! A module: its function and arguments.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use snick_tensor::{ElementType, Tensor};

use super::hlo::Function;
use super::mesh::Mesh;
use super::types::Type;

/// A StableHLO module with one function, `main`. [`std::fmt::Display`] prints it as MLIR.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Module {
    /// The name of the graph.
    pub name: String,
    /// The arguments of `main`, in order: the inputs of the graph, then its weights.
    pub arguments: Vec<Argument>,
    /// The results of `main`, in order.
    pub results: Vec<Port>,
    /// The devices that the arguments are sharded over; see [`Module::shard`].
    pub mesh: Option<Mesh>,
    /// The schema of the manifest.
    pub(crate) schema: &'static str,
    /// The function `main`; it has the same arguments in the same order.
    pub(crate) function: Arc<Function>,
}

/// An argument or result of a module.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Port {
    /// The name of the layer; names of arguments are unique.
    pub name: String,
    /// The element type that the model declares for it.
    #[serde(serialize_with = "element_type")]
    pub element_type: ElementType,
    /// The sizes; `None` for a dynamic size.
    pub dims: Vec<Option<usize>>,
    /// The variable that this input or output replaces, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

fn element_type<S: Serializer>(element_type: &ElementType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element_type.name())
}

impl Port {
    pub(super) fn new(name: impl Into<String>, ty: &Type) -> Self {
        let dims = ty.dims.iter().map(|dim| dim.as_const().and_then(|dim| usize::try_from(dim).ok()));
        Self { name: name.into(), element_type: ty.element, dims: dims.collect(), state: None }
    }

    /// The size in bytes, with elements of less than 8 bits packed; `None` if a dim is dynamic.
    pub fn bytes(&self) -> Option<usize> {
        let elements = self.dims.iter().try_fold(1_usize, |all, &dim| all.checked_mul(dim?));
        self.element_type.byte_len(elements?)
    }
}

/// An argument of a module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Argument {
    /// Its name, element type and sizes.
    pub port: Port,
    /// The origin of its value.
    pub data: ArgumentData,
    /// For each dim, the axis of the mesh over which it is sharded. Empty if the partitioner may choose.
    pub sharding: Vec<Option<String>>,
}

/// The origin of an argument's value.
#[derive(Clone, Debug)]
pub enum ArgumentData {
    /// Passed by the caller.
    Input,
    /// Stored in a file of the model.
    File {
        /// The file.
        path: PathBuf,
        /// The range of its bytes in the file.
        range: Range<usize>,
    },
    /// Computed from constants of the model.
    Folded(Tensor),
}
