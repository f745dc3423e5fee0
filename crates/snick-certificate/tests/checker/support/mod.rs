//! Graphs for tests, a guide that finds proofs, and an interpreter.

mod arithmetic;
mod combined;
pub mod guide;
pub mod interpreter;

use snick_certificate::{
    Attribute, Equalities, Graph, Lemma, Node, Output, Problem, Proof, Recorded, Size, SizeOp, Value,
};

use self::guide::Elimination;

/// A size that nothing is known about.
pub const ANY: Size = Size::Any(0, None);

/// Builds graphs.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub graph: Graph,
    constants: Vec<Value>,
}

impl Builder {
    /// An input, which equals only itself.
    pub fn input(&mut self, element_type: &str, dims: &[Size]) -> Value {
        let node = Node { op: "Parameter".into(), is_unique: true, ..Node::default() };
        self.push(node, vec![output(element_type, dims)])
    }

    /// A constant of type i64 with one axis.
    pub fn list(&mut self, integers: &[i64]) -> Value {
        self.constant("i64", &[integers.len() as i64], integers)
    }

    /// A scalar constant of type i64.
    pub fn scalar(&mut self, integer: i64) -> Value {
        self.constant("i64", &[], &[integer])
    }

    pub fn constant(&mut self, element_type: &str, dims: &[i64], integers: &[i64]) -> Value {
        let sizes: Vec<Size> = dims.iter().map(|dim| Size::Int(*dim)).collect();
        let output = Output { integers: Some(integers.to_vec()), ..output(element_type, &sizes) };
        if let Some(known) = self.constants.iter().find(|known| *self.output(**known) == output) {
            return *known;
        }
        let is_alike =
            |known: &&Value| Output { dims: output.dims.clone(), ..self.output(**known).clone() } == output;
        let value = match self.constants.iter().find(is_alike) {
            Some(&first) => self.typed("Reshape", &[first], &[("shape", ints(dims))], output),
            None => self.typed("Const", &[], &[], output),
        };
        self.constants.push(value);
        value
    }

    /// A node with one output, which has the element type of the first input.
    pub fn op(
        &mut self,
        op: &str,
        inputs: &[Value],
        attributes: &[(&str, Attribute)],
        dims: &[Size],
    ) -> Value {
        let element_type = self.element_type(inputs[0]);
        self.typed(op, inputs, attributes, output(&element_type, dims))
    }

    pub fn typed(
        &mut self,
        op: &str,
        inputs: &[Value],
        attributes: &[(&str, Attribute)],
        output: Output,
    ) -> Value {
        self.push(node(op, inputs, attributes), vec![output])
    }

    /// Elements of an axis with a known start and length.
    pub fn slice(&mut self, data: Value, axis: usize, start: i64, length: i64) -> Value {
        let attributes = [("axes", axis as i64), ("start", start), ("len", length), ("step", 1)];
        let mut dims = self.dims(data);
        dims[axis] = Size::Int(length);
        self.op("slice", &[data], &attributes.map(|(name, int)| (name, ints(&[int]))), &dims)
    }

    /// The sizes of a value as a list of type i32. The conversion keeps ShapeOf from being compared as a whole.
    pub fn shape_of(&mut self, value: Value) -> Value {
        let rank = [Size::Int(self.dims(value).len() as i64)];
        let shape = self.typed("ShapeOf", &[value], &[], output("i64", &rank));
        self.typed("Convert", &[shape], &[], output("i32", &rank))
    }

    /// A node with several outputs of the element type of the first input.
    pub fn parts(&mut self, op: &str, inputs: &[Value], dims: &[&[Size]]) -> Vec<Value> {
        let element_type = self.element_type(inputs[0]);
        let outputs = dims.iter().map(|dims| output(&element_type, dims)).collect();
        let first = self.push(node(op, inputs, &[]), outputs);
        (0..dims.len()).map(|port| Value { port, ..first }).collect()
    }

    pub fn push(&mut self, node: Node, outputs: Vec<Output>) -> Value {
        self.graph.nodes.push(Node { outputs, ..node });
        Value { node: self.graph.nodes.len() - 1, port: 0 }
    }

    pub fn element_type(&self, value: Value) -> String {
        self.output(value).element_type.clone()
    }

    pub fn dims(&self, value: Value) -> Vec<Size> {
        self.output(value).dims.clone().unwrap()
    }

    pub fn output(&self, value: Value) -> &Output {
        &self.graph.nodes[value.node].outputs[value.port]
    }

    /// The graph in a short form, a line per node.
    pub fn text(&self) -> String {
        let line = |(number, node): (usize, &Node)| {
            let inputs: Vec<String> =
                node.inputs.iter().flatten().map(|value| format!("{}:{}", value.node, value.port)).collect();
            let integers = &node.outputs[0].integers;
            let dims: Vec<_> = node.outputs.iter().map(|out| &out.dims).collect();
            format!(
                "{number} {}({}) {:?} {integers:?} {dims:?}\n",
                node.op,
                inputs.join(", "),
                node.attributes
            )
        };
        self.graph.nodes.iter().enumerate().map(line).collect()
    }

    /// Whether two values are proved equal, and whether the recorded proof is accepted.
    pub fn is_proved(&self, before: Value, after: Value) -> bool {
        let mut guide = Elimination::default();
        if Equalities::new(&self.graph, []).prove(before, after, &mut guide).is_err() {
            return false;
        }
        let mut recorded = Recorded::new(&guide.answers);
        Equalities::new(&self.graph, []).prove(before, after, &mut recorded).unwrap();
        assert!(recorded.is_used_up());
        true
    }

    /// A problem whose only claim is an equality, and a proof of it.
    pub fn problem(&self, before: Value, after: Value) -> (Problem, Proof) {
        let mut guide = Elimination::default();
        Equalities::new(&self.graph, []).prove(before, after, &mut guide).unwrap();
        let lemmas = vec![Lemma { before, after, answers: guide.answers }];
        let problem =
            Problem { graph: self.graph.clone(), claims: vec![(before, after)], ..Problem::default() };
        (problem, Proof { lemmas, claims: vec![0], ..Proof::default() })
    }
}

pub fn node(op: &str, inputs: &[Value], attributes: &[(&str, Attribute)]) -> Node {
    Node {
        op: op.to_string(),
        attributes: attributes.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect(),
        inputs: inputs.iter().copied().map(Some).collect(),
        ..Node::default()
    }
}

pub fn output(element_type: &str, dims: &[Size]) -> Output {
    Output { element_type: element_type.to_string(), dims: Some(dims.to_vec()), integers: None }
}

pub fn of(op: SizeOp, a: Size, b: Size) -> Size {
    Size::Of(op, Box::new([a, b]))
}

pub fn text(text: &str) -> Attribute {
    Attribute::from(text)
}

pub fn ints(ints: &[i64]) -> Attribute {
    Attribute::from(ints.to_vec())
}

pub fn texts(texts: &[&str]) -> Attribute {
    Attribute::from(texts.to_vec())
}
