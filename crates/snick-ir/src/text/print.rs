//! Prints a graph as text.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use snick_shape::Symbols;
use snick_tensor::{ElementType, Listed, Tensor};

use super::syntax::{is_name_byte, quoted, word};
use super::{INLINE, OPAQUE, TENSOR, literal};
use crate::ops::source::constant::Constant;
use crate::{
    AttrValue, Attrs, Dialect, Graph, Info, NodeId, NodeRef, Op, Output, PortIds, Value, Version, WeightsFile,
};

/// How large constants are written.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Weights {
    /// As a digest, for reading and snapshots.
    #[default]
    Digests,
    /// As a digest and the offset in the `.bin` that [`packed_weights`] creates.
    Packed,
}

/// How a graph is printed.
///
/// ```
/// use snick::text::{parse, print, PrintOptions};
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n}\n";
/// let mut graph = parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// assert_eq!(print(&graph, PrintOptions::new().types(false)), text);
/// # Ok::<(), snick::text::ParseError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PrintOptions {
    /// How large constants are written.
    pub weights: Weights,
    /// Whether inferred types are shown. Declared ports of opaque layers are always shown.
    pub types: bool,
    /// Whether dims are shown as expressions rather than as intervals.
    pub symbolic: bool,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { weights: Weights::Digests, types: true, symbolic: false }
    }
}

impl PrintOptions {
    /// The defaults: digests of large constants, inferred types, dims as intervals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how large constants are written.
    #[must_use]
    pub fn weights(self, weights: Weights) -> Self {
        Self { weights, ..self }
    }

    /// Sets whether inferred types are shown.
    #[must_use]
    pub fn types(self, types: bool) -> Self {
        Self { types, ..self }
    }

    /// Sets whether dims are shown as expressions.
    #[must_use]
    pub fn symbolic(self, symbolic: bool) -> Self {
        Self { symbolic, ..self }
    }
}

/// Prints a graph. Equal graphs give equal bytes.
pub fn print(graph: &Graph, options: PrintOptions) -> String {
    let mut printer = Printer { out: String::from("snick 1\n"), options, packed: WeightsFile::new() };
    printer.graph(graph, None, 0);
    printer.out
}

/// Prints a graph and its bodies in the order of another version of them; see [`Graph::order_like`].
///
/// ```
/// use snick::text::{PrintOptions, parse, print_like};
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n}\n";
/// let graph = parse(text, None)?;
/// assert_eq!(print_like(&graph, &graph, PrintOptions::new().types(false)), text);
/// # Ok::<(), snick::text::ParseError>(())
/// ```
pub fn print_like(graph: &Graph, other: &Graph, options: PrintOptions) -> String {
    let mut printer = Printer { out: String::from("snick 1\n"), options, packed: WeightsFile::new() };
    printer.graph(graph, Some(other), 0);
    printer.out
}

/// The constants that [`print()`] writes with an offset, in order of their offsets and without duplicates.
pub fn packed_weights(graph: &Graph) -> WeightsFile {
    let options = PrintOptions::new().weights(Weights::Packed);
    let mut printer = Printer { out: String::new(), options, packed: WeightsFile::new() };
    printer.graph(graph, None, 0);
    printer.packed
}

struct Printer {
    out: String,
    options: PrintOptions,
    /// The content of the `.bin` so far.
    packed: WeightsFile,
}

impl Printer {
    fn graph(&mut self, graph: &Graph, other: Option<&Graph>, depth: usize) {
        let pad = "  ".repeat(depth + 1);
        let _ = writeln!(self.out, "graph {} {{", quoted(&graph.name));
        if let Some(version) = graph.ir_version {
            let _ = writeln!(self.out, "{pad}ir {version}");
        }
        for info in &graph.info {
            let _ = write!(self.out, "{pad}info ");
            self.info(info, depth + 1);
            self.out.push('\n');
        }
        // Prints a cyclic graph in the order of ids, so that users can inspect it.
        let order = other.map_or_else(|| graph.order(), |other| graph.order_like(other));
        let order = order.unwrap_or_else(|_| graph.ids().collect());
        let names = Names::new(graph, &order);
        for id in order {
            self.out.push_str(&pad);
            self.node(graph, other, id, &names, depth);
            self.out.push('\n');
        }
        let _ = writeln!(self.out, "{}}}", "  ".repeat(depth));
    }

    fn node(&mut self, graph: &Graph, other: Option<&Graph>, id: NodeId, names: &Names, depth: usize) {
        let node = graph.node(id);
        let opaque = if is_misnamed(node) { format!("{OPAQUE} ") } else { String::new() };
        let _ = write!(self.out, "{} = {opaque}{}", names.node(id), op_text(node));
        let inputs = graph.inputs(id);
        // A constant may have inputs. That is an error, but the text form keeps it.
        if !inputs.is_empty() {
            let inputs: Vec<String> =
                inputs.iter().map(|v| v.map_or("_".into(), |v| names.value(v))).collect();
            let _ = write!(self.out, "({})", inputs.join(", "));
        }
        match node.op() {
            Op::Const(constant) => self.constant(constant),
            op => self.attrs(" ", &op.attrs()),
        }
        self.outputs(graph, node);
        if let Some(details) = &node.details() {
            if let Some(ids) = &details.output_ids {
                let _ = write!(self.out, " outputs {}", ids_text(ids, node.outs().len()));
            }
            if let Some(ids) = &details.input_ids {
                let _ = write!(self.out, " inputs {}", ids_text(ids, inputs.len()));
            }
            self.attrs(" extra ", &details.extra);
            for info in &details.info {
                self.out.push_str(" info ");
                self.info(info, depth + 1);
            }
        }
        let pad = "  ".repeat(depth + 1);
        for (i, (role, body)) in node.op().bodies().enumerate() {
            let _ = write!(self.out, "\n{pad}  {role} ");
            let other = other.and_then(|other| other.node(other.find(node.name())?).op().bodies().nth(i));
            self.graph(body, other.map(|(_, body)| body), depth + 2);
            self.out.pop();
        }
    }

    /// ` : f32[1,2] "name"`, or several of these in parentheses.
    fn outputs(&mut self, graph: &Graph, node: NodeRef) {
        let is_const = matches!(node.op(), Op::Const(_));
        let shown = (self.options.types || !node.op().is_builtin()) && !is_const;
        let named = node.outs().iter().any(|o| !o.names().is_empty());
        if node.outs().is_empty() {
            // If the outputs are omitted, the parser assumes one output, as most layers have.
            if !node.op().is_opaque() {
                self.out.push_str(" : ()");
            }
            return;
        }
        if !(shown || named || node.outs().len() > 1) {
            return;
        }
        let port = |out: &Output| {
            let mut text =
                if shown { type_text(out, graph.symbols(), self.options.symbolic) } else { "_".into() };
            out.names().iter().for_each(|name| text.extend([" ", &quoted(name)]));
            text
        };
        let ports: Vec<String> = node.outs().iter().map(port).collect();
        match ports.as_slice() {
            [one] => drop(write!(self.out, " : {one}")),
            many => drop(write!(self.out, " : ({})", many.join(", "))),
        }
    }

    fn constant(&mut self, constant: &Constant) {
        let dims: Vec<String> = constant.dims().iter().map(usize::to_string).collect();
        let _ = write!(self.out, " {}[{}] ", constant.element_type(), dims.join(","));
        match constant {
            Constant::Here(tensor) => self.elements(tensor),
            Constant::Absent(absent) => match absent.digest {
                Some(digest) => drop(write!(self.out, "#{digest:016x}")),
                None => self.out.push_str("#absent"),
            },
        }
    }

    fn elements(&mut self, tensor: &Arc<Tensor>) {
        match tensor.len() {
            0..=INLINE => drop(write!(self.out, "<{}>", literal::print(tensor))),
            _ => self.weights(tensor),
        }
    }

    fn weights(&mut self, tensor: &Arc<Tensor>) {
        let digest = literal::digest(&tensor.to_bytes());
        let _ = write!(self.out, "#{digest:016x}");
        if self.options.weights == Weights::Packed {
            let offset = self.packed.place(tensor).start;
            let _ = write!(self.out, "@{offset}");
        }
    }

    fn attrs(&mut self, before: &str, attrs: &Attrs) {
        if attrs.is_empty() {
            return;
        }
        let _ = write!(self.out, "{before}{{");
        for (i, (name, value)) in attrs.iter().enumerate() {
            let _ = write!(self.out, "{}{}: ", if i == 0 { "" } else { ", " }, word(name));
            match value {
                AttrValue::Tensor(tensor) => {
                    self.out.push_str(TENSOR);
                    self.constant(&Constant::new(tensor.clone()));
                }
                value => drop(write!(self.out, "{value}")),
            }
        }
        self.out.push('}');
    }

    fn info(&mut self, info: &Info, depth: usize) {
        self.out.push_str(&word(&info.name));
        if !info.attrs.is_empty() {
            let attrs: Vec<String> =
                info.attrs.iter().map(|(n, v)| format!("{}={}", word(n), quoted(v))).collect();
            let _ = write!(self.out, "({})", attrs.join(", "));
        }
        if !info.text.is_empty() {
            let _ = write!(self.out, " {}", quoted(&info.text));
        }
        if !info.children.is_empty() {
            self.out.push_str(" {\n");
            for (i, child) in info.children.iter().enumerate() {
                self.out.push_str(&"  ".repeat(depth + 1));
                self.info(child, depth + 1);
                // A quoted name after an empty entry would be parsed as the text of that entry.
                let is_bare = child.text.is_empty() && child.children.is_empty();
                if is_bare && info.children.get(i + 1).is_some_and(|next| word(&next.name).starts_with('"')) {
                    self.out.push_str(" \"\"");
                }
                self.out.push('\n');
            }
            let _ = write!(self.out, "{}}}", "  ".repeat(depth));
        }
    }
}

/// The name of each node in the text.
struct Names {
    by_node: Vec<String>,
}

impl Names {
    fn new(graph: &Graph, order: &[NodeId]) -> Self {
        let mut by_node = vec![String::new(); graph.bound()];
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for &id in order {
            let name = graph.node(id).name();
            let count = seen.entry(name).or_insert(0);
            *count += 1;
            let plain = !name.is_empty() && name.bytes().all(is_name_byte);
            let mut text = if plain { format!("%{name}") } else { format!("%{}", quoted(name)) };
            if *count > 1 {
                let _ = write!(text, "~{count}");
            }
            by_node[id.index()] = text;
        }
        Self { by_node }
    }

    fn node(&self, id: NodeId) -> &str {
        &self.by_node[id.index()]
    }

    fn value(&self, value: Value) -> String {
        match value.port {
            0 => self.node(value.node).to_string(),
            port => format!("{}:{port}", self.node(value.node)),
        }
    }
}

/// Whether the parser would read an opaque layer as the op with that name, or reject it.
fn is_misnamed(node: NodeRef) -> bool {
    let name = || Some(crate::ops::find(Dialect::OpenVino, node.op().type_name())?.name);
    node.op().is_opaque()
        && name().is_some_and(|name| {
            let is_constant = matches!(name.name, "Const" | "Constant");
            let version = node.version();
            is_constant || name.check(version).is_err() || name.defining_opset(version).is_some()
        })
}

/// `StridedSlice-1`, `Foo-extension`, `slice`.
fn op_text(node: NodeRef) -> String {
    let name = match node.op().dialect() {
        Dialect::Snick => return node.op().type_name().to_string(),
        Dialect::OpenVino => word(node.op().type_name()),
    };
    match node.version() {
        Version::Opset(n) => format!("{name}-{n}"),
        Version::Custom(text) => format!("{name}-{}", word(text)),
        Version::Unversioned => format!("{name}-_"),
    }
}

fn type_text(out: &Output, symbols: &Symbols, symbolic: bool) -> String {
    let fact = &out.fact;
    let unknown = fact.element_type == ElementType::Dynamic && fact.shape.rank().is_none();
    match &out.declared {
        Some(declared) if unknown => match &declared.dims {
            None => format!("{}[...]", declared.element_type),
            Some(dims) => {
                let dims: Vec<String> =
                    dims.iter().map(|&d| if d < 0 { "?".into() } else { d.to_string() }).collect();
                format!("{}[{}]", declared.element_type, dims.join(","))
            }
        },
        _ if symbolic => format!("{}{}", fact.element_type, fact.shape.display(symbols)),
        _ => format!("{}{}", fact.element_type, fact.shape.display_intervals(symbols)),
    }
}

fn ids_text(ids: &PortIds, count: usize) -> String {
    let count = if let PortIds::Listed(ids) = ids { ids.len() } else { count };
    // The first number is printed even if there are no ports, because a file may declare unconnected ports.
    let ids: Vec<String> = (0..count.max(1)).map(|i| ids.id(i).to_string()).collect();
    format!("[{}]", ids.join(","))
}

/// Prints the value as in the text form.
impl fmt::Display for AttrValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::Text(text) => f.write_str(&word(text)),
            AttrValue::Int(v) => v.fmt(f),
            AttrValue::Float(v) => write!(f, "{v:?}"),
            AttrValue::Bool(v) => v.fmt(f),
            AttrValue::Ints(v) => Listed(v).fmt(f),
            AttrValue::Floats(v) => Listed(&v.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>()).fmt(f),
            AttrValue::Texts(v) => Listed(&v.iter().map(|text| quoted(text)).collect::<Vec<_>>()).fmt(f),
            // The printer of the text form handles tensors separately: it adds the type, and prints large
            // ones as digests.
            AttrValue::Tensor(tensor) => write!(f, "<{}>", literal::print(tensor)),
        }
    }
}
