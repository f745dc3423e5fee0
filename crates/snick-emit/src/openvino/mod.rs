//! OpenVINO IR: `.xml` and `.bin`.
//!
//! `layer.rs` writes a layer with its ports and bodies, and `xml.rs` writes and escapes elements. Primitives
//! are first replaced with operations of the format (`snick_pass::legalize::from_slice`). An If with a known
//! condition is replaced with the branch that runs, because the runtime would reject errors in the other
//! branch as well. A Loop that is known not to iterate is replaced with its initial values.

mod empty_outputs;
mod layer;
mod release;
mod xml;

use snick_ir::rewrite::{CUSTOM_OPS, apply_throughout};
use snick_ir::{Graph, IR_VERSIONS, Info, Located, NodeId, OpError, Release, WeightsFile};
pub use snick_pass::legalize::from_slice::SliceAs;
use snick_pass::legalize::{from_slice, inline_if, skip_loop};

use self::xml::Xml;

/// The two files of an IR.
#[derive(Clone, Debug)]
pub struct Files {
    /// The content of the `.xml`.
    pub xml: String,
    /// The content of the `.bin`.
    pub bin: WeightsFile,
    /// The version of the IR.
    pub version: u32,
}

/// Writes an inferred graph as an IR. If the graph was not read from an IR, the newest version is used.
/// `slice_as` selects the operation that replaces the `slice` primitive.
///
/// # Errors
/// Names the layer that the format cannot express: a constant without weights, a primitive without a
/// counterpart, or an unknown operation.
pub fn openvino(graph: &Graph, slice_as: SliceAs) -> Result<Files, Box<Located>> {
    files(graph, slice_as, None)
}

/// Like [`openvino`], but rewrites what this release or an older one cannot read.
///
/// # Errors
/// Same as [`openvino`], and [`OpError::NeedsRelease`] for a layer that cannot be rewritten.
pub fn for_release(graph: &Graph, slice_as: SliceAs, release: Release) -> Result<Files, Box<Located>> {
    files(graph, slice_as, Some(release))
}

fn files(graph: &Graph, slice_as: SliceAs, release: Option<Release>) -> Result<Files, Box<Located>> {
    let original = graph;
    let mut graph = graph.clone();
    apply_throughout(&mut graph, &[CUSTOM_OPS, inline_if::RULE, inline_if::HALVES, skip_loop::RULE])?;
    apply_throughout(&mut graph, &[from_slice::ranges(slice_as)])?;
    apply_throughout(&mut graph, &[from_slice::BOUNDS])?;
    if let Some(release) = release {
        release::legalize(&mut graph, original, release)?;
    }
    let mut writer = Writer { is_of_ir: graph.ir_version.is_some(), ..Writer::default() };
    let attrs = graph.info.iter().filter(|info| info.name == "net").flat_map(|info| &info.attrs);
    writer.xml.declaration();
    writer.xml.open("net");
    writer.xml.attr("name", &graph.name);
    let version = graph.ir_version.filter(|version| IR_VERSIONS.contains(version));
    let version = version.unwrap_or(*IR_VERSIONS.end());
    writer.xml.attr("version", version);
    writer.xml.model_attrs(&["name", "version"], attrs.map(|(name, value)| (name.as_str(), value)));
    writer.net(&graph)?;
    writer.xml.close("net");
    if let Some(what) = writer.xml.take_fault() {
        return Err(Located::of_model(&*graph.source, graph.name.clone(), cannot_write(what)).into());
    }
    let mut xml = writer.xml.finish();
    if let Some(release) = release {
        release::lengthen(&mut xml, release);
    }
    Ok(Files { xml, bin: writer.weights, version })
}

fn cannot_write(what: String) -> OpError {
    OpError::CannotWrite { what, format: "OpenVINO IR" }
}

#[derive(Default)]
struct Writer {
    xml: Xml,
    weights: WeightsFile,
    /// Whether the graph was read from an IR.
    is_of_ir: bool,
}

/// The layer ids in the file, by [`NodeId::index`].
type LayerIds = Vec<usize>;

impl Writer {
    /// Writes the contents of `<net>` or of a body, and returns the ids of the layers.
    fn net(&mut self, graph: &Graph) -> Result<LayerIds, Box<Located>> {
        let order = graph.order()?;
        let mut ids = vec![0; graph.bound()];
        order.iter().enumerate().for_each(|(number, id)| ids[id.index()] = number);
        self.xml.open("layers");
        for &id in &order {
            self.layer(graph, id, ids[id.index()])?;
        }
        self.xml.close("layers");
        self.xml.open("edges");
        for &id in &order {
            self.edges(graph, id, &ids).map_err(|error| graph.located(id, error))?;
        }
        self.xml.close("edges");
        self.infos(graph.info.iter().filter(|info| info.name != "net"));
        Ok(ids)
    }

    fn edges(&mut self, graph: &Graph, id: NodeId, ids: &LayerIds) -> Result<(), OpError> {
        for (port, value) in graph.inputs(id).into_iter().enumerate() {
            let Some(value) = value else { continue };
            graph.output(value).ok_or(OpError::NotConnected { port })?;
            let source = graph.node(value.node);
            self.xml.open("edge");
            self.xml.attr("from-layer", ids[value.node.index()]);
            self.xml.attr("from-port", source.output_id(value.port as usize, graph.inputs(value.node).len()));
            self.xml.attr("to-layer", ids[id.index()]);
            self.xml.attr("to-port", layer::input_id(graph.node(id), port));
            self.xml.close("edge");
        }
        Ok(())
    }

    fn infos<'i>(&mut self, infos: impl IntoIterator<Item = &'i Info>) {
        for info in infos {
            self.xml.open(&info.name);
            self.xml.model_attrs(&[], info.attrs.iter().map(|(name, value)| (name.as_str(), value)));
            self.xml.text(&info.text);
            self.infos(&info.children);
            self.xml.close(&info.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::*;

    fn emitted(text: &str) -> Result<Files, Box<Located>> {
        let mut graph = text::parse(text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        openvino(&graph, SliceAs::default())
    }

    #[test]
    fn a_small_graph() {
        let files = emitted(
            "snick 1\ngraph \"a<b\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1..2,?\"} : f32[1..2,?] \"x,y\"\n  \
             %c = Const-1 i64[1] <7>\n  %d = Const-1 i64[1] <7>\n  %y = Result-1(%x)\n  %z = Result-1(%c)\n  \
             %w = Result-1(%d)\n}\n",
        )
        .unwrap();
        assert_eq!(files.bin.to_bytes(), [7, 0, 0, 0, 0, 0, 0, 0]);
        for part in [
            "<net name=\"a&lt;b\" version=\"11\">",
            "<data element_type=\"f32\" shape=\"1..2,?\"/>",
            "<port id=\"0\" precision=\"FP32\" names=\"x\\,y\">",
            "<dim>-1</dim>",
            "<data element_type=\"i64\" shape=\"1\" offset=\"0\" size=\"8\"/>",
            "<edge from-layer=\"2\" from-port=\"0\" to-layer=\"5\" to-port=\"0\"/>",
        ] {
            assert!(files.xml.contains(part), "{part} in {}", files.xml);
        }
    }

    /// The runtime would return empty states for a Loop that does not iterate.
    #[test]
    fn a_loop_whose_condition_is_false_at_first_is_its_initial_value() {
        let of = |starts: u8| {
            emitted(&format!(
                "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"3\"}}\n\
                 %trips = Const-1 i64[] <2>\n%starts = Const-1 boolean[] <{starts}>\n\
                 %l = Loop-5(%trips, %starts, %x) {{inputs: [\"1 -> 0\", \"2 -> 1\"], outputs: \
                 [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [0,0, 1,1]}}\n\
                 body graph \"\" {{\n%go = Parameter-1 {{element_type: boolean, shape: \"\"}}\n\
                 %s = Parameter-1 {{element_type: f32, shape: \"?\"}}\n\
                 %t = Add-1(%s, %s) {{auto_broadcast: numpy}}\n%c = Result-1(%go)\n%next = Result-1(%t)\n}}\n\
                 %r = Result-1(%l)\n}}\n"
            ))
            .unwrap()
        };
        assert!(!of(0).xml.contains("type=\"Loop\"") && of(1).xml.contains("type=\"Loop\""));
    }

    #[test]
    fn indices_are_checked_by_snick_alone() {
        let files = emitted(
            "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"3,2\"}\n  \
             %i = Parameter-1 {element_type: i64, shape: \"2\"}\n  %a = Const-1 i64[] <0>\n  \
             %y = Gather-8(%x, %i, %a) {batch_dims: 0, checks_indices: true}\n  %z = Result-1(%y)\n}\n",
        )
        .unwrap();
        assert!(
            files.xml.contains("<data batch_dims=\"0\"/>") && !files.xml.contains("checks"),
            "{}",
            files.xml
        );
    }

    #[test]
    fn what_xml_cannot_say_is_refused_with_its_layer() {
        for (layer, message) in [
            (
                "%\"x\\u{1b}\" = Parameter-1 {element_type: f32, shape: \"2\"}",
                "layer `x\\u{1b}` (Parameter): cannot write \
              the character U+001B to OpenVINO IR",
            ),
            (
                "%x = Parameter-1 {element_type: f32, shape: \"2\"} info rt_info { \"a b\" }",
                "`a b`, which is not a valid XML name",
            ),
            (
                "%x = Parameter-1 {element_type: f32, shape: \"2\"} info layer(id=\"7\")",
                "a second attribute `id`",
            ),
            ("info rt_info(a=\"\\u{0}\")", "the character U+0000"),
        ] {
            let error = emitted(&format!("snick 1\ngraph \"g\" {{\n{layer}\n}}\n")).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn operations_that_no_runtime_has_are_refused() {
        let written = |net: &str, layer: &str| {
            let x = "%x = Parameter-1 {element_type: f32, shape: \"2\"}";
            emitted(&format!(
                "snick 1\ngraph \"g\" {{\n{net}\n{x}\n%y = {layer} : f32[2]\n%r = Result-1(%y)\n}}\n"
            ))
        };
        // A layer from an IR may belong to an extension, or to a future operation set.
        assert!(written("ir 11", "opaque Foo-\"extension\"(%x)").is_ok());
        assert!(written("ir 11", "opaque Foo-99(%x)").is_ok());
        for (net, layer) in [
            ("", "opaque Hardmax-\"ai.onnx.11\"(%x) {axis: 1}"),
            ("", "opaque Foo-\"com.example.1\"(%x)"),
            ("ir 11", "opaque Foo-1(%x)"),
            ("ir 11", "opaque Foo-_(%x)"),
        ] {
            let error = written(net, layer).unwrap_err();
            assert_eq!(error.layer, "y");
            assert!(matches!(error.error, OpError::CannotWrite { .. }), "{layer}: {error}");
        }
    }

    #[test]
    fn absent_weights_are_named() {
        let text = "snick 1\ngraph \"g\" {\n  %c = Const-1 f32[100] #absent\n  %y = Result-1(%c)\n}\n";
        assert!(emitted(text).unwrap_err().to_string().contains("layer `c` (Const)"));
    }
}
