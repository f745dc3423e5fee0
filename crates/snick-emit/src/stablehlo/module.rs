//! A module: its function and arguments.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use snick_tensor::{ElementType, Tensor};

use super::literal::Bytes;
use super::mesh::Mesh;
use super::types::Type;

/// A StableHLO module of one function, `main`. [`fmt::Display`] prints its text.
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
    pub(super) body: Body,
    /// The names and types of the values that `main` returns.
    pub(super) returned: Vec<[String; 2]>,
}

/// The operations of the function. The bytes of large constants are kept separately.
#[derive(Clone, Default, Debug)]
pub(super) struct Body {
    pub(super) text: String,
    /// The bytes of constants, each with its position in the text, in order.
    pub(super) literals: Vec<(usize, Bytes)>,
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        for (place, literal) in &self.literals {
            f.write_str(&self.text[at..*place])?;
            literal.fmt(f)?;
            at = *place;
        }
        f.write_str(&self.text[at..])
    }
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
    /// The sizes; `None` for a dynamic one.
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
    /// The name of its value in the text, and its type.
    pub(super) value: String,
    pub(super) ty: String,
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

/// A quoted string. Drops characters that would have to be escaped in MLIR.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain: String = self.0.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        write!(f, "\"{plain}\"")
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.value, self.ty)?;
        if self.sharding.is_empty() {
            return Ok(());
        }
        f.write_str(" {sdy.sharding = #sdy.sharding<@mesh, [")?;
        for (i, axis) in self.sharding.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match axis {
                Some(axis) => write!(f, "{comma}{{\"{axis}\"}}")?,
                None => write!(f, "{comma}{{}}")?,
            }
        }
        f.write_str("]>}")
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "module @{} {{", Quoted(&self.name))?;
        if let Some(mesh) = &self.mesh {
            let axes: Vec<String> =
                mesh.axes().iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
            writeln!(f, "  sdy.mesh @mesh = <[{}]>", axes.join(", "))?;
        }
        f.write_str("  func.func public @main(")?;
        for (i, argument) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if i > 0 { ", " } else { "" })?;
        }
        let [names, types] = [0, 1].map(|part| {
            self.returned.iter().map(|value| value[part].as_str()).collect::<Vec<_>>().join(", ")
        });
        writeln!(f, ") -> ({types}) {{")?;
        self.body.fmt(f)?;
        writeln!(f, "    return {names} : {types}\n  }}\n}}")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bytes_of_large_constants_are_written_but_not_kept() {
        let values: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: i32, shape: \"1000\"}}\n  \
             %w = Const-1 i32[1000] <{}>\n  %sum = Add-1(%x, %w)\n  %y = Result-1(%sum)\n}}\n",
            values.join(", ")
        );
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        let module = crate::stablehlo(&graph, Default::default()).unwrap();
        assert!(module.body.text.len() < 500, "{}", module.body.text);
        let text = module.to_string();
        assert!(text.contains("dense<\"0x0000000001000000"), "{text}");
        assert!(text.contains("E7030000\"> : tensor<1000xi32>\n"), "{text}");
    }
}
