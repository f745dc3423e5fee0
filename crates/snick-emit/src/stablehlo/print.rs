//! Modules as MLIR text.

use std::fmt::{self, Write as _};

use super::hlo::{Convolution, Function, Gather, Op, OpKind, Region, Scatter, Value, ValueId};
use super::literal::{array, padding};
use super::module::Module;

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "module @{} {{", Quoted(&self.name))?;
        if let Some(mesh) = &self.mesh {
            let axes: Vec<String> =
                mesh.axes().iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
            writeln!(f, "  sdy.mesh @mesh = <[{}]>", axes.join(", "))?;
        }
        f.write_str("  func.func public @main(")?;
        let (values, body) = (Values(&self.function), &self.function.body);
        for (i, (&value, argument)) in body.arguments.iter().zip(&self.arguments).enumerate() {
            write!(f, "{}{}", if i > 0 { ", " } else { "" }, values.declared(value))?;
            if !argument.sharding.is_empty() {
                f.write_str(" {sdy.sharding = #sdy.sharding<@mesh, [")?;
                for (i, axis) in argument.sharding.iter().enumerate() {
                    let axis = axis.as_ref().map_or_else(String::new, |axis| format!("\"{axis}\""));
                    write!(f, "{}{{{axis}}}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]>}")?;
            }
        }
        let (names, types) = (values.names(&body.results), values.types(&body.results));
        writeln!(f, ") -> ({types}) {{")?;
        body.ops.iter().try_for_each(|op| values.write_op(f, op, 4))?;
        writeln!(f, "    return {names} : {types}\n  }}\n}}")
    }
}

/// A quoted text, without characters that MLIR would escape.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain: String = self.0.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        write!(f, "\"{plain}\"")
    }
}

/// The values of a function, by name.
struct Values<'f>(&'f Function);

impl Values<'_> {
    fn joined(&self, ids: &[ValueId], spelled: impl Fn(&mut String, &Value) -> fmt::Result) -> String {
        let mut text = String::new();
        for (i, &id) in ids.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            // Writing to a string does not fail.
            let _ = spelled(&mut text, &self.0.values[id]);
        }
        text
    }

    /// `%a, %b`
    fn names(&self, ids: &[ValueId]) -> String {
        self.joined(ids, |text, value| write!(text, "%{}", value.name))
    }

    /// `tensor<2xf32>, tensor<f32>`
    fn types(&self, ids: &[ValueId]) -> String {
        self.joined(ids, |text, value| write!(text, "{}", value.ty))
    }

    /// `%a: tensor<2xf32>`
    fn declared(&self, id: ValueId) -> String {
        self.joined(&[id], |text, value| write!(text, "%{}: {}", value.name, value.ty))
    }

    /// One operation, on a line of its own or with the lines of its regions.
    fn write_op(&self, f: &mut fmt::Formatter<'_>, op: &Op, indent: usize) -> fmt::Result {
        let (name, values, results) = (op.kind.name(), self.names(&op.operands), self.names(&op.results));
        let (from, to) = (self.types(&op.operands), self.types(&op.results));
        let (results, to) = match results.split_once('#') {
            Some((list, _)) => (format!("{list}:{}", op.results.len()), format!("({to})")),
            None => (results, to),
        };
        write!(f, "{:indent$}{results} = ", "")?;
        let signature = match &op.kind {
            OpKind::Elementwise(_) | OpKind::Constant(_) | OpKind::Iota(_) | OpKind::Reverse(_) => to,
            OpKind::Select => format!("{}, {to}", self.types(&op.operands[..1])),
            _ => format!("({from}) -> {to}"),
        };
        let text = match &op.kind {
            OpKind::Elementwise(_) | OpKind::Mixed(_) | OpKind::Select | OpKind::Reshape => values,
            OpKind::Compare(direction) => format!("{direction}, {values}"),
            OpKind::Constant(literal) => {
                return writeln!(f, "stablehlo.{name} dense<{literal}> : {signature}");
            }
            OpKind::Iota(axis) => format!("dim = {axis}"),
            OpKind::BroadcastInDim(axes)
            | OpKind::DynamicBroadcastInDim(axes)
            | OpKind::Transpose(axes)
            | OpKind::Reverse(axes) => format!("{values}, dims = {axes:?}"),
            OpKind::Slice(ranges) => {
                let ranges = ranges.iter().map(|[first, end, step]| format!("{first}:{end}:{step}"));
                format!("{values} [{}]", ranges.collect::<Vec<_>>().join(", "))
            }
            OpKind::DotGeneral { batch: [a, b], contracting: [c, d], precision } => {
                let batch =
                    if a.is_empty() { String::new() } else { format!("batching_dims = {a:?} x {b:?}, ") };
                let precision = precision.word();
                format!(
                    "{values}, {batch} contracting_dims = {c:?} x {d:?}, precision = [{precision}, {precision}]"
                )
            }
            OpKind::Reduce { combine, axes } => {
                let [x, start] = [&op.operands[..1], &op.operands[1..]].map(|ids| self.names(ids));
                format!("({x} init: {start}) applies stablehlo.{combine} across dimensions = {axes:?}")
            }
            OpKind::SizeVector => format!("{values}, dim = 0"),
            OpKind::GetDimensionSize(axis) | OpKind::DynamicIota(axis) => format!("{values}, dim = {axis}"),
            OpKind::Pad { low, high } => {
                format!("{values}, low = {low:?}, high = {high:?}, interior = {:?}", vec![0; low.len()])
            }
            OpKind::While => return self.write_while(f, op, indent),
            // All other operations are written in MLIR's generic syntax.
            _ => {
                write!(f, "\"stablehlo.{name}\" ({values}){}", self.generic_attributes(op))?;
                for (i, region) in op.regions.iter().enumerate() {
                    f.write_str(if i > 0 { ", {\n" } else { " ({\n" })?;
                    self.write_region(f, region, indent)?;
                    f.write_str(if i + 1 < op.regions.len() { "}" } else { "})" })?;
                }
                return writeln!(f, " : {signature}");
            }
        };
        writeln!(f, "stablehlo.{name} {text} : {signature}")
    }

    /// ` <{dimension = 0 : i64}>`
    fn generic_attributes(&self, op: &Op) -> String {
        let vectors = || self.0.values[op.operands[1]].ty.rank().saturating_sub(1);
        let attributes = match &op.kind {
            OpKind::Gather(Gather { offset, collapsed, indexed, sizes }) => {
                let entries = vectors();
                let sizes = sizes.as_ref().map(|sizes| format!(", slice_sizes = {}", array(sizes)));
                format!(
                    "dimension_numbers = #stablehlo.gather<offset_dims = {offset:?}, collapsed_slice_dims = \
                     {collapsed:?}, start_index_map = {indexed:?}, index_vector_dim = {entries}>, \
                     indices_are_sorted = false{}",
                    sizes.unwrap_or_default()
                )
            }
            OpKind::Concatenate(axis) => format!("dimension = {axis} : i64"),
            OpKind::Sort(axis) => format!("dimension = {axis} : i64, is_stable = true"),
            OpKind::DynamicSlice(sizes) => format!("slice_sizes = {}", array(sizes)),
            OpKind::Scatter(Scatter { window, indexed }) => format!(
                "indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = \
                 {window:?}, inserted_window_dims = {indexed:?}, scatter_dims_to_operand_dims = {indexed:?}, \
                 index_vector_dim = {}>, unique_indices = false",
                vectors()
            ),
            OpKind::ReduceWindow(window) => format!(
                "base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, \
                 window_strides = {}",
                array(&vec![1; window.sizes.len()]),
                padding(&window.padding),
                array(&window.dilations),
                array(&window.sizes),
                array(&window.strides),
            ),
            OpKind::Convolution(convolution) => convolution_attributes(convolution),
            _ => String::new(),
        };
        if attributes.is_empty() { attributes } else { format!(" <{{{attributes}}}>") }
    }

    fn write_while(&self, f: &mut fmt::Formatter<'_>, op: &Op, indent: usize) -> fmt::Result {
        let [condition, body] = op.regions.as_slice() else { return Err(fmt::Error) };
        let name = |&id: &ValueId| self.0.values[id].name.as_str();
        let begins = condition.arguments.iter().zip(&op.operands);
        let begins: Vec<String> = begins.map(|(own, x)| format!("%{} = %{}", name(own), name(x))).collect();
        writeln!(f, "stablehlo.while ({}) : {}", begins.join(", "), self.types(&op.operands))?;
        writeln!(f, "{:indent$}cond {{", "")?;
        self.write_ops(f, condition, indent + 2)?;
        writeln!(f, "{:indent$}}} do {{", "")?;
        self.write_ops(f, body, indent + 2)?;
        writeln!(f, "{:indent$}}}", "")
    }

    /// Writes a region up to its closing brace.
    fn write_region(&self, f: &mut fmt::Formatter<'_>, region: &Region, indent: usize) -> fmt::Result {
        if region.arguments.is_empty() {
            self.write_ops(f, region, indent + 2)?;
            return write!(f, "{:indent$}", "");
        }
        let arguments: Vec<String> = region.arguments.iter().map(|&id| self.declared(id)).collect();
        // Regions with arguments have a fixed indentation, whatever their depth.
        writeln!(f, "      ^bb0({}):", arguments.join(", "))?;
        self.write_ops(f, region, 8)?;
        f.write_str("    ")
    }

    fn write_ops(&self, f: &mut fmt::Formatter<'_>, region: &Region, indent: usize) -> fmt::Result {
        region.ops.iter().try_for_each(|op| self.write_op(f, op, indent))?;
        let (names, types) = (self.names(&region.results), self.types(&region.results));
        writeln!(f, "{:indent$}stablehlo.return {names} : {types}", "")
    }
}

/// `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]` for two spatial axes, and how the filters move.
fn convolution_attributes(convolution: &Convolution) -> String {
    let Convolution { groups, strides, padding: pads, lhs_dilation, rhs_dilation, precision } = convolution;
    let axes: String = (0..strides.len()).map(|axis| format!(", {axis}")).collect();
    let precision = precision.word();
    format!(
        "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f{axes}]x[o, i{axes}]->[b, f{axes}]>, \
         feature_group_count = {groups} : i64, lhs_dilation = {}, padding = {}, \
         precision_config = [#stablehlo<precision {precision}>, #stablehlo<precision {precision}>], \
         rhs_dilation = {}, window_strides = {}",
        array(lhs_dilation),
        padding(pads),
        array(rhs_dilation),
        array(strides),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stablehlo::literal::Literal;

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
        let bytes = |op: &Op| matches!(&op.kind, OpKind::Constant(Literal::Bytes(_)));
        assert!(module.function.body.ops.iter().any(bytes), "{module:?}");
        let text = module.to_string();
        assert!(text.contains("dense<\"0x0000000001000000"), "{text}");
        assert!(text.contains("E7030000\"> : tensor<1000xi32>\n"), "{text}");
    }
}
