//! StableHLO as MLIR text, the input of XLA and its partitioner.
//!
//! Operations that StableHLO lacks are decomposed first (`snick_pass::legalize`), and slice-like layers are
//! lowered to the `slice` primitive. Each family of operations has a file that matches on
//! [`Op`](snick_ir::Op) and returns rows (`row.rs`). A row writes one layer with an `Emitter` (`emitter.rs`), and `table.rs` combines the
//! families. The result is a data structure (`hlo.rs`), which the partitioner also reads; `print.rs`,
//! `types.rs` and `literal.rs` print it as MLIR.
//!
//! Values that inference knows become constants. Values that inference knows as expressions of input sizes
//! become arithmetic on these sizes (`sizes.rs`), so the layers that compute shapes are not written one by
//! one. Functions that exist only in the companion dialect CHLO, such as `erf`, are expanded (`special.rs`).
//!
//! Small constants are part of the module's text. Large constants become arguments (`weights.rs`), whose dims
//! can be sharded over a mesh of devices (`mesh.rs`).
//!
//! Based on version 1.0 of the StableHLO specification, and on Shardy's annotations.

mod activation;
mod arguments;
mod assertions;
mod contract;
mod control;
mod data_sizes;
mod decoding;
mod detection;
mod einsum;
mod elementwise;
mod emitter;
mod format_traits;
mod fourier;
pub(crate) mod hlo;
mod indexing;
mod kinds;
pub(crate) mod literal;
mod lookup;
mod manifest;
mod mesh;
mod module;
mod movement;
mod partition;
mod precision;
pub(crate) mod print;
mod product;
mod recurrent;
mod reduce;
mod reduction;
mod regions;
mod resample;
mod resample_at_run_time;
mod row;
mod sampling;
mod scatter;
pub(crate) mod scope;
mod shape;
mod shard_patterns;
mod sharding;
mod sizes;
mod slices;
mod sort;
mod sorted;
mod special;
mod table;
mod taps;
pub(crate) mod types;
mod unary;
mod weights;
mod window;

use snick_ir::rewrite::apply_throughout;
use snick_ir::{Graph, Located};
use snick_pass::legalize::{from_slice, to_slice};

use self::emitter::{Emitter, FunctionBuilder};
pub(crate) use self::format_traits::FormatTraits;
use self::kinds::{Kind, kinds};
pub use self::manifest::FOLDED;
pub use self::mesh::{Mesh, ShardError, ShardRules};
pub use self::module::{Argument, ArgumentData, Module, Port};
pub use self::partition::{Collective, Partition, PartitionError, Program, Transfer, Unplanned};
pub use self::precision::Precision;
pub use self::table::has_operator;
pub(crate) use self::weights::Weights;
use crate::legalized::Refusals;

/// Writes an inferred graph as an MLIR module of one function, `main`, with all constants in the text.
///
/// # Errors
/// Names the layer that StableHLO cannot express, such as one with data-dependent sizes or types that MLIR
/// lacks.
pub fn stablehlo(graph: &Graph, precision: Precision) -> Result<Module, Box<Located>> {
    written(graph, precision, None, FORMAT)
}

/// Writes an inferred graph as an MLIR module of one function, `main`. Constants of 1 KiB or more become
/// arguments. Constants that are stored in the model's files are only referred to; their bytes are not read.
///
/// ```
/// let text = r#"snick 1
/// graph "scale" {
///   %x = Parameter-1 {element_type: f32, shape: "2,4"}
///   %y = Result-1(%x)
/// }
/// "#;
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let mut module = snick_emit::stablehlo::module(&graph, Default::default())?;
/// module.shard("batch=2".parse()?, &"x[batch]".parse()?)?;
/// assert!(module.to_string().contains("sdy.sharding"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Same as [`stablehlo`].
pub fn module(graph: &Graph, precision: Precision) -> Result<Module, Box<Located>> {
    written(graph, precision, Some(Weights::of(graph)), FORMAT)
}

const FORMAT: FormatTraits = FormatTraits {
    name: "StableHLO",
    schema: "snick.stablehlo/1",
    sizes_from_data: false,
    assertions: false,
};

/// Writes a graph as a typed module, for this format or for one that it is lowered to.
pub(crate) fn written(
    graph: &Graph,
    precision: Precision,
    weights: Option<Weights>,
    format: FormatTraits,
) -> Result<Module, Box<Located>> {
    let model = graph;
    let mut graph = model.clone();
    let refusals = Refusals::legalize(&mut graph, &table::target(format.sizes_from_data), format.name)?;
    apply_throughout(&mut graph, &[to_slice::RULE, from_slice::BOUNDS])?;
    let mut function = FunctionBuilder::new(refusals, precision, weights);
    function.sizes_from_data = format.sizes_from_data;
    parameters(&graph, &mut function)?;
    if format.assertions {
        let written = assertions::write(model, &graph, &mut function);
        written.map_err(|error| Located::of_model(&graph.source, &graph.name, error))?;
    }
    layers(&graph, &mut function)?;
    Ok(function.finish(&graph, format.schema))
}

/// Writes the Parameters without a given value as arguments, in the order of the model.
fn parameters(graph: &Graph, function: &mut FunctionBuilder) -> Result<(), Box<Located>> {
    for id in graph.parameters() {
        let around = function.enter(graph, id);
        let written = function.parameter(graph, id);
        function.leave(around);
        written.map_err(|error| function.refusals.located(graph, id, error))?;
    }
    Ok(())
}

/// Writes the layers that the results of a graph depend on, and the results in the order of the model.
fn layers(graph: &Graph, function: &mut FunctionBuilder) -> Result<(), Box<Located>> {
    let order = graph.order()?;
    let symbols = sizes::of_arguments(graph);
    let kinds = kinds(graph, &order, &symbols, function.weights.as_ref());
    for id in order {
        if kinds[id.index()] == Kind::Unused {
            continue;
        }
        let around = function.enter(graph, id);
        let written = match kinds[id.index()] {
            Kind::Unused => Ok(()),
            Kind::Constant => function.constants(graph, id),
            Kind::ShapeValue => function.emit_shape_value(graph, id),
            Kind::Computed => {
                Emitter::new(graph, id, function).and_then(|mut emitter| table::emit(&mut emitter))
            }
        };
        function.leave(around);
        written.map_err(|error| function.refusals.located(graph, id, error))?;
    }
    for id in graph.results() {
        let around = function.enter(graph, id);
        let written = function.result(graph, id);
        function.leave(around);
        written.map_err(|error| function.refusals.located(graph, id, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::*;

    fn written(layers: &str) -> Result<String, String> {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        stablehlo(&graph, Precision::Highest)
            .map(|module| module.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn slices_go_forward_and_are_turned_round() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"6,4\"}
             %start = Const-1 i64[2] <4, 1>
             %stop = Const-1 i64[2] <-7, 3>
             %step = Const-1 i64[2] <-2, 1>
             %y = Slice-8(%x, %start, %stop, %step)
             %r = Result-1(%y)",
        );
        let expected = "module @\"g\" {
  func.func public @main(%x: tensor<6x4xf32>) -> (tensor<3x2xf32>) {
    %y = stablehlo.slice %x [0:5:2, 1:3:1] : (tensor<6x4xf32>) -> tensor<3x2xf32>
    %y_1 = stablehlo.reverse %y, dims = [0] : tensor<3x2xf32>
    return %y_1 : tensor<3x2xf32>
  }
}
";
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn known_values_are_constants_and_shapes_are_brought_together() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}
             %one = Const-1 f32[3] <1.5, -2.0, 1e-7>
             %y = Add-1(%x, %one) {auto_broadcast: numpy}
             %r = Result-1(%y)",
        );
        let text = text.unwrap();
        for line in [
            "%one = stablehlo.constant dense<[1.5, -2.0, 1.0e-7]> : tensor<3xf32>",
            "%y = stablehlo.broadcast_in_dim %one, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>",
            "%y_1 = stablehlo.add %x, %y : tensor<2x3xf32>",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn halves_are_computed_in_f32_and_rounded_where_they_leave() {
        let text = written(
            "%x = Parameter-1 {element_type: f16, shape: \"2\"}
             %y = Exp-1(%x)
             %z = Sqrt-1(%y)
             %r = Result-1(%z)",
        );
        let expected = "module @\"g\" {
  func.func public @main(%x: tensor<2xf16>) -> (tensor<2xf16>) {
    %x_1 = stablehlo.convert %x : (tensor<2xf16>) -> tensor<2xf32>
    %y = stablehlo.exponential %x_1 : tensor<2xf32>
    %z = stablehlo.sqrt %y : tensor<2xf32>
    %r = stablehlo.convert %z : (tensor<2xf32>) -> tensor<2xf16>
    return %r : tensor<2xf16>
  }
}
";
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn halves_stay_halves_at_native_precision() {
        let text = "snick 1\ngraph \"g\" {\n%x = Parameter-1 {element_type: bf16, shape: \"2,2\"}
             %y = MatMul-1(%x, %x) {transpose_a: false, transpose_b: false}\n%r = Result-1(%y)\n}\n";
        let mut graph = text::parse(text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let text = stablehlo(&graph, Precision::Native).unwrap().to_string();
        let line =
            "precision = [DEFAULT, DEFAULT] : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>";
        assert!(text.contains(line) && !text.contains("f32"), "{text}");
    }

    #[test]
    fn inputs_and_results_keep_the_order_of_the_model() {
        let text = written(
            "%b = Parameter-1 {element_type: f32, shape: \"2\"}
             %a = Parameter-1 {element_type: f32, shape: \"3\"}
             %x = Exp-1(%a)
             %y = Exp-1(%b)
             %s = Result-1(%x)
             %r = Result-1(%y)",
        );
        let line = "@main(%b: tensor<2xf32>, %a: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>)";
        assert!(text.as_ref().unwrap().contains(line), "{text:?}");
    }

    #[test]
    fn variables_are_refused_with_what_to_do() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"2\"}
             %y = ReadValue-6(%x) {variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}
             %z = Assign-6(%y) {variable_id: \"v\"}
             %r = Result-1(%y)",
        );
        assert!(text.unwrap_err().contains("a variable (--stateless makes it"));
    }

    #[test]
    fn functions_of_integers_are_those_of_reals_rounded() {
        let text = |element: &str| {
            let x = format!("%x = Parameter-1 {{element_type: {element}, shape: \"2\"}}");
            written(&format!("{x}\n%y = Sin-1(%x)\n%r = Result-1(%y)")).unwrap()
        };
        for line in [
            "stablehlo.convert %x : (tensor<2xi32>) -> tensor<2xf64>",
            "stablehlo.sine ",
            "stablehlo.round_nearest_even ",
            ": (tensor<2xf64>) -> tensor<2xi32>\n    return ",
        ] {
            assert!(text("i32").contains(line), "{line} in\n{}", text("i32"));
        }
        // Negative numbers are converted to i64 first.
        assert!(text("u8").contains("(tensor<2xi64>) -> tensor<2xui8>"));
    }

    #[test]
    fn a_second_input_is_laid_over_the_first_from_its_axis_on() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"2,3,2\"}
             %b = Parameter-1 {element_type: f32, shape: \"2\"}
             %y = Add-1(%x, %b) {auto_broadcast: pdpd}
             %r = Result-1(%y)",
        );
        let line = "dims = [0, 1, 2] : (tensor<2x1x1xf32>) -> tensor<2x3x2xf32>";
        assert!(text.as_ref().unwrap().contains(line), "{text:?}");
    }

    #[test]
    fn same_padding_at_stride_one_needs_no_size() {
        let text = |stride: i64| {
            written(&format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"1,1,?\"}}
                 %w = Parameter-1 {{element_type: f32, shape: \"1,1,4\"}}
                 %y = Convolution-1(%x, %w) {{strides: [{stride}], pads_begin: [0], pads_end: [0], dilations: [1],
                    auto_pad: same_upper}}
                 %r = Result-1(%y)"
            ))
        };
        let line = "padding = dense<[[1, 2]]>";
        assert!(text(1).as_ref().is_ok_and(|text| text.contains(line)), "{:?}", text(1));
        assert!(text(2).unwrap_err().contains("padding of data of unknown size"));
    }

    #[test]
    fn batches_are_gathered_each_by_its_own_place() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"2,5,3\"}
             %i = Const-1 i64[2,2] <0, 1, 3, 4>
             %axis = Const-1 i64[] <1>
             %y = Gather-8(%x, %i, %axis) {batch_dims: 1}
             %r = Result-1(%y)",
        );
        let line = "offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2";
        assert!(text.as_ref().unwrap().contains(line), "{text:?}");
    }

    #[test]
    fn places_outside_of_a_grid_give_nothing() {
        let text = |padding: &str| {
            written(&format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"1,2,4,5\"}}
                 %g = Parameter-1 {{element_type: f32, shape: \"1,3,3,2\"}}
                 %y = GridSample-9(%x, %g) {{align_corners: true, mode: bilinear, padding_mode: {padding}}}
                 %r = Result-1(%y)"
            ))
            .unwrap()
        };
        // Interpolates between two rows and two columns. Only padding with zeros needs a mask.
        for (padding, chosen) in [("zeros", 4), ("border", 0)] {
            let text = text(padding);
            assert_eq!(text.matches("stablehlo.gather\"").count(), 4, "{text}");
            assert_eq!(text.matches("stablehlo.select").count(), chosen, "{text}");
        }
    }

    #[test]
    fn spectra_are_products_with_cosines_and_sines() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"4\"}
             %axis = Const-1 i64[1] <0>
             %y = RDFT-9(%x, %axis)
             %r = Result-1(%y)",
        );
        let text = text.unwrap();
        assert_eq!(text.matches("stablehlo.dot_general").count(), 2, "{text}");
        assert!(text.contains("[[1.0, 1.0, 1.0, 1.0], [1.0, "), "{text}");
    }

    #[test]
    fn open_sizes_are_computed_from_those_of_arguments() {
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
             %shape = ShapeOf-3(%x) {output_type: i64}
             %flat = Const-1 i64[1] <-1>
             %zero = Const-1 i64[] <0>
             %n = Gather-8(%shape, %zero, %zero) {batch_dims: 0}
             %axis = Const-1 i64[1] <0>
             %len = Unsqueeze-1(%n, %axis)
             %stop = Subtract-1(%len, %axis) {auto_broadcast: numpy}
             %start = Const-1 i64[1] <1>
             %tail = Slice-8(%x, %start, %stop, %start, %axis)
             %y = Reshape-1(%tail, %flat) {special_zero: false}
             %r = Result-1(%y)",
        );
        let expected = "module @\"g\" {
  func.func public @main(%x: tensor<?x4xf32>) -> (tensor<?xf32>) {
";
        let text = text.unwrap();
        assert!(text.starts_with(expected), "{text}");
        for line in [
            "stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>",
            "stablehlo.real_dynamic_slice",
            "stablehlo.dynamic_reshape",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{line} in\n{text}");
        }
        // Sizes are computed directly from input sizes. The layers that compute them in the model are not
        // written.
        assert!(!text.contains("stablehlo.gather"), "{text}");
    }

    #[test]
    fn nan_is_sorted_as_the_largest() {
        let text = |element: &str, mode: &str| {
            let sorted = written(&format!(
                "%x = Parameter-1 {{element_type: {element}, shape: \"4\"}}\n%k = Const-1 i64[] <2>
                 %y = TopK-11(%x, %k) {{axis: 0, mode: {mode}, sort: value, index_element_type: i64, stable: true}}
                 %r = Result-1(%y)"
            ));
            sorted.unwrap()
        };
        // The two comparisons test whether one operand is NaN and the other is not.
        for (mode, [nan, number]) in [("max", ["%a", "%b"]), ("min", ["%b", "%a"])] {
            let text = text("f32", mode);
            for part in [format!("compare NE, {nan}, {nan} "), format!("compare EQ, {number}, {number} ")] {
                assert!(text.contains(&part), "{part} in\n{text}");
            }
        }
        assert!(!text("i32", "min").contains("compare NE"));
    }

    #[test]
    fn what_it_cannot_say_is_named() {
        let text = written("%x = Parameter-1 {element_type: f32, shape: \"...\"}\n%r = Result-1(%x)");
        assert!(
            text.unwrap_err()
                .contains("layer `x` (Parameter): cannot write a rank known only at run time to StableHLO")
        );
        let text = written(
            "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n%y = NonZero-3(%x) {output_type: i64}\n%r = Result-1(%y)",
        );
        assert!(text.unwrap_err().contains("layer `y` (NonZero): cannot write this operation to StableHLO"));
    }
}
