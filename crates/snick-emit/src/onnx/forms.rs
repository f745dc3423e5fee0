//! Older forms of nodes: inputs that were attributes, attributes that do not exist yet, and operators whose
//! meaning differs.

use snick_ir::{Fact, onnx_opsets};
use snick_onnx::{self as onnx, kind};
use snick_shape::Shape;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Result, graph_attribute, int, ints};
use super::node_types::version;

impl Emitter<'_> {
    /// Whether the operator set has an operator.
    pub(super) fn has(&self, operator: &str) -> bool {
        version(operator, self.writer.opset()).is_some()
    }

    /// Whether the user asked for an operator set before `opset`.
    pub(super) fn is_older(&self, opset: i64) -> bool {
        self.writer.checked.target.is_some_and(|target| target < opset)
    }

    /// The smaller of two integers, element by element.
    pub(super) fn smaller(&mut self, a: &str, b: &str) -> String {
        self.extreme("Min", "Less", a, b)
    }

    /// The larger of two integers, element by element.
    pub(super) fn larger(&mut self, a: &str, b: &str) -> String {
        self.extreme("Max", "Greater", a, b)
    }

    fn extreme(&mut self, operator: &str, comparison: &str, a: &str, b: &str) -> String {
        let version = version(operator, self.writer.opset());
        if version.is_some_and(|version| version.is_input_type(0, ElementType::I64)) {
            return self.node(operator, &[a, b], vec![]);
        }
        let is_first = self.node(comparison, &[a, b], vec![]);
        self.node("Where", &[is_first.as_str(), a, b], vec![])
    }

    /// Changes a node from the newest form to the one in the operator set. Anything without an older form stays; the
    /// comparison with the table reports it.
    pub(super) fn fit(&mut self, node: &mut onnx::Node) -> Result {
        let opset = self.writer.opset();
        for newer in onnx_opsets::versions(&node.op_type).iter().filter(|version| version.since > opset) {
            // An attribute that became an input became the last one.
            if let ([moved], Some(count)) = (newer.dropped.as_slice(), newer.max_inputs()) {
                self.move_to_attribute(node, moved, count.saturating_sub(1));
            }
            node.attribute.retain(|attr| !newer.added.contains(&&*attr.name) || !is_without_effect(attr));
        }
        match &*node.op_type {
            name if name.starts_with("Reduce") => reduce_no_axes(node),
            "Reshape" if opset < 14 => self.reshape_to_empty(node)?,
            // Regions and scales cannot be left out.
            "Resize" if opset < 13 => {
                for name in node.input.iter_mut().filter(|name| name.is_empty()) {
                    *name = self.tensor(&Tensor::from_vec(&[0], Vec::<f32>::new())?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn move_to_attribute(&self, node: &mut onnx::Node, name: &str, port: usize) {
        let Some(input) = node.input.get(port).filter(|input| !input.is_empty()) else { return };
        let Some((list, is_scalar)) = self.integers(input) else { return };
        node.attribute.push(match list.first() {
            Some(&single) if is_scalar => int(name, single),
            _ => ints(name, list),
        });
        node.input.truncate(port);
    }

    /// The integers of a value, if they are known, and whether they are a scalar.
    fn integers(&self, name: &str) -> Option<(Vec<i64>, bool)> {
        match self.position(name) {
            Some(i) => Some((self.known(i)?, self.rank(i) == Ok(0))),
            None => {
                let tensor = self.writer.constant_of(name)?;
                Some((tensor.to_i64_vec().ok()?, tensor.rank() == 0))
            }
        }
    }

    /// Before opset 14, sizes of 0 copy the size of the data. If the sizes may contain 0 where the data has another
    /// size, an If chooses between a reshape and an empty tensor.
    fn reshape_to_empty(&mut self, node: &mut onnx::Node) -> Result {
        let Some(place) = node.attribute.iter().position(|attr| attr.name == "allowzero") else {
            return Ok(());
        };
        node.attribute.remove(place);
        let [data, sizes] = node.input.as_slice() else { return Ok(()) };
        if self.copies_zeros(data, sizes) {
            return Ok(());
        }
        let (data, sizes) = (data.clone(), sizes.clone());
        let element_type = self.writer.checked.types.get(&data).copied().unwrap_or(ElementType::Dynamic);
        let fact = Fact::new(element_type, Shape::unranked());
        let count = self.node("ReduceProd", &[&sizes], vec![int("keepdims", 0)]);
        let zero = self.index(0)?;
        let is_empty = self.node("Equal", &[count, zero], vec![]);
        let then = self.branch(&fact, |e| {
            let zeros = e.node("ConstantOfShape", &[&sizes], vec![]);
            let to = e.to(element_type)?;
            Ok(e.node("Cast", &[zeros], to))
        })?;
        let otherwise = self.branch(&fact, |e| Ok(e.node("Reshape", &[&data, &sizes], vec![])))?;
        node.op_type = "If".into();
        node.input = vec![is_empty];
        node.attribute =
            vec![graph_attribute("then_branch", then), graph_attribute("else_branch", otherwise)];
        Ok(())
    }

    /// Whether sizes are only 0 where the size of the data is, too.
    fn copies_zeros(&self, data: &str, sizes: &str) -> bool {
        if let Some((sizes, _)) = self.integers(sizes)
            && !sizes.contains(&0)
        {
            return true;
        }
        let fact = |name| self.position(name).and_then(|i| self.fact(i).ok());
        let Some(elements) = fact(sizes).and_then(|fact| fact.elements()) else { return false };
        let dims = fact(data).and_then(|fact| fact.shape.dims()).unwrap_or_default();
        let symbols = self.graph.symbols();
        elements.iter().enumerate().all(|(i, size)| {
            symbols.interval(size).lo() > 0 || size.as_const() == Some(-1) || dims.get(i) == Some(size)
        })
    }

    /// A graph without inputs.
    fn branch(
        &mut self,
        fact: &Fact,
        write: impl FnOnce(&mut Self) -> Result<String>,
    ) -> Result<onnx::Graph> {
        let around = self.writer.enter_branch("");
        let name = write(self)?;
        self.writer.output(name, fact, self.layer.graph.symbols())?;
        Ok(self.writer.leave_branch(around))
    }
}

/// Whether an attribute says what older versions of the operator do anyway. Parts of a split are equal.
fn is_without_effect(attr: &onnx::Attribute) -> bool {
    match &*attr.name {
        "allowzero" | "batch_dims" => attr.i == Some(0),
        "coordinate_transformation_mode" => attr.s.as_deref() == Some(b"output_half_pixel"),
        "dilations" => attr.ints.iter().all(|&dilation| dilation == 1),
        "num_outputs" => true,
        "reduction" => attr.s.as_deref() == Some(b"none"),
        _ => false,
    }
}

/// Older reductions reduce all axes if the list is empty.
fn reduce_no_axes(node: &mut onnx::Node) {
    let axes = node.attribute.iter().find(|attr| attr.name == "axes" && attr.kind == Some(kind::INTS));
    match axes.map(|axes| axes.ints.is_empty()) {
        Some(true) => {
            node.op_type = "Identity".into();
            node.attribute.clear();
        }
        Some(false) => node.attribute.retain(|attr| attr.name != "noop_with_empty_axes"),
        None => {}
    }
}
