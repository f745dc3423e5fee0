//! Small random graphs, determined by the seed.

use snick_ir::{AttrValue, Attrs, Dialect, Graph, Node, NodeId, Op, RawNode, Value, Version};
use snick_tensor::Tensor;

/// A graph under construction.
struct Builder {
    graph: Graph,
    values: Vec<Value>,
    random: Random,
}

/// Two or three inputs and about ten layers, mostly slices and ops that slices move through. Every value
/// without readers is an output.
pub(super) fn random_graph(seed: u64) -> Graph {
    let mut b = Builder { graph: Graph::new("random"), values: Vec::new(), random: Random(seed) };
    for _ in 0..2 + b.random.below(2) {
        b.parameter();
    }
    let layers = 4 + b.random.below(9);
    let mut tries = 0;
    while b.graph.len() < 40 && tries < layers * 3 {
        tries += 1;
        // A layer that fails inference is removed.
        let before = (b.graph.clone(), b.values.len());
        if b.layer().is_none() {
            b.graph = before.0;
            b.values.truncate(before.1);
        }
    }
    let unread: Vec<Value> = b.values.iter().copied().filter(|&v| b.graph.uses(v).is_empty()).collect();
    for value in unread {
        b.node("Result", Attrs::new(), &[value]).unwrap();
    }
    b.graph
}

impl Builder {
    fn node(&mut self, op: &str, attrs: Attrs<'static>, inputs: &[Value]) -> Option<NodeId> {
        let mut raw = RawNode::openvino(op, Version::Unversioned, attrs, 1);
        raw.dialect = if op == "slice" { Dialect::Snick } else { Dialect::OpenVino };
        let op = Op::parse(&mut raw).ok()?;
        let name = format!("{}{}", op.type_name().to_lowercase(), self.graph.len());
        let id = self.graph.add_wired(Node::new(name, op), inputs);
        self.graph.infer_node(id).ok()?;
        Some(id)
    }

    fn add(&mut self, op: &str, attrs: Attrs<'static>, inputs: &[Value]) -> Option<()> {
        let id = self.node(op, attrs, inputs)?;
        for port in (0..).take(self.graph.node(id).outs().len()) {
            self.values.push(Value { node: id, port });
        }
        Some(())
    }

    fn parameter(&mut self) {
        let rank = 1 + self.random.below(4) as usize;
        let dims: Vec<String> = (0..rank).map(|_| self.random.dim()).collect();
        let element_type = *self.random.pick(&["f32", "f32", "f32", "i64", "f16", "u8"]);
        let attrs = Attrs::new().with("element_type", element_type).with("shape", dims.join(","));
        self.add("Parameter", attrs, &[]).unwrap();
    }

    fn ints(&mut self, dims: &[usize], values: &[i64]) -> Value {
        let tensor = Tensor::from_vec(dims, values.to_vec()).unwrap();
        let op = Op::from(snick_ir::ops::source::constant::Constant::new(std::sync::Arc::new(tensor)));
        let id = self.graph.add(Node::new(format!("c{}", self.graph.len()), op));
        self.graph.infer_node(id).unwrap();
        Value { node: id, port: 0 }
    }

    fn list(&mut self, values: &[i64]) -> Value {
        self.ints(&[values.len()], values)
    }

    /// A value, its rank, and its static dims.
    fn any(&mut self) -> (Value, usize, Vec<Option<i64>>) {
        let value = *self.random.pick(&self.values);
        let shape = &self.graph.fact(value).unwrap().shape;
        let dims: Vec<Option<i64>> = shape.dims().unwrap_or_default().iter().map(|d| d.as_const()).collect();
        (value, dims.len(), dims)
    }

    fn bound(&mut self) -> i64 {
        self.random.below(15) as i64 - 7
    }

    fn step(&mut self) -> i64 {
        *self.random.pick(&[1, 1, 1, 2, 3, -1, -2])
    }

    fn layer(&mut self) -> Option<()> {
        let (x, rank, dims) = self.any();
        let axis = self.random.below(rank.max(1) as u64) as usize;
        let dim = dims.get(axis).copied().flatten();
        match self.random.below(34) {
            0..=3 => {
                let n = 1 + self.random.below(rank.max(1) as u64) as usize;
                let mut axes: Vec<i64> = (0..rank as i64).collect();
                self.random.shuffle(&mut axes);
                axes.truncate(n);
                let lists: [Vec<i64>; 3] = [
                    axes.iter().map(|_| self.bound()).collect(),
                    axes.iter().map(|_| self.bound()).collect(),
                    axes.iter().map(|_| self.step()).collect(),
                ];
                let mut inputs = vec![x];
                for list in lists.iter().chain([&axes]) {
                    inputs.push(self.list(list));
                }
                self.add("Slice", Attrs::new(), &inputs)
            }
            4..=6 => {
                let n = 1 + self.random.below(rank as u64 + 1) as usize;
                let begin: Vec<i64> = (0..n).map(|_| self.bound()).collect();
                let end: Vec<i64> = (0..n).map(|_| self.bound()).collect();
                let step: Vec<i64> = (0..n).map(|_| self.step()).collect();
                let inputs = [x, self.list(&begin), self.list(&end), self.list(&step)];
                let mut attrs = Attrs::new();
                for (name, one_in) in [
                    ("begin_mask", 3),
                    ("end_mask", 3),
                    ("new_axis_mask", 8),
                    ("shrink_axis_mask", 8),
                    ("ellipsis_mask", 12),
                ] {
                    let mask: Vec<i64> = (0..n).map(|_| i64::from(self.random.below(one_in) == 0)).collect();
                    attrs = attrs.with(name, AttrValue::Ints(mask.into()));
                }
                self.add("StridedSlice", attrs, &inputs)
            }
            7 => {
                let count = *self.random.pick(&[2, 3]);
                let axis = self.ints(&[], &[axis as i64]);
                self.add("Split", Attrs::new().with("num_splits", count), &[x, axis])
            }
            8 => {
                let dim = dim.filter(|&dim| dim > 1)?;
                let first = 1 + self.random.below(dim as u64 - 1) as i64;
                let inputs = [x, self.ints(&[], &[axis as i64]), self.list(&[first, -1])];
                self.add("VariadicSplit", Attrs::new(), &inputs)
            }
            9 | 10 => {
                let dim = dim.filter(|&dim| dim > 0)?;
                let at = self.random.below(dim as u64) as i64;
                let indices = match self.random.below(4) {
                    0 => self.ints(&[], &[at]),
                    1 => self.ints(&[1], &[at - dim]),
                    2 => self.list(&(at..dim).collect::<Vec<_>>()),
                    _ => self.list(&(0..=at).rev().step_by(2).collect::<Vec<_>>()),
                };
                let axis = self.ints(&[], &[axis as i64]);
                self.add("Gather", Attrs::new().with("batch_dims", 0), &[x, indices, axis])
            }
            11 | 12 => {
                let op = *self.random.pick(&["ReLU", "Abs", "Negative", "Sign", "Convert"]);
                let attrs = match op {
                    "Convert" => Attrs::new().with("destination_type", *self.random.pick(&["f32", "i32"])),
                    _ => Attrs::new(),
                };
                self.add(op, attrs, &[x])
            }
            13 | 14 => {
                let (y, ..) = self.any();
                let op = *self.random.pick(&["Add", "Multiply", "Subtract", "Maximum"]);
                self.add(op, Attrs::new(), &[x, y])
            }
            15 | 16 => {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                self.random.shuffle(&mut order);
                let order = self.list(&order);
                self.add("Transpose", Attrs::new(), &[x, order])
            }
            17 => {
                let count = dims.iter().try_fold(1i64, |n, dim| Some(n * (*dim)?))?;
                let outer = *self.random.pick(&[1, 2, 3, 4, 6]);
                let target = match self.random.below(3) {
                    0 => vec![count],
                    _ if count % outer == 0 => vec![outer, count / outer],
                    _ => vec![1, count],
                };
                let target = self.list(&target);
                self.add("Reshape", Attrs::new().with("special_zero", false), &[x, target])
            }
            18 | 19 => {
                let mut inputs = vec![x];
                for _ in 0..1 + self.random.below(2) {
                    inputs.push(if self.random.below(3) == 0 { x } else { self.any().0 });
                }
                self.add("Concat", Attrs::new().with("axis", axis as i64), &inputs)
            }
            20 => {
                let (y, ..) = self.any();
                let flag = |random: &mut Random| random.below(2) == 0;
                let (a, b) = (flag(&mut self.random), flag(&mut self.random));
                self.add("MatMul", Attrs::new().with("transpose_a", a).with("transpose_b", b), &[x, y])
            }
            21 => {
                let target: Vec<i64> = dims
                    .iter()
                    .map(|dim| dim.map(|dim| if dim == 1 { 3 } else { dim }))
                    .collect::<Option<_>>()?;
                let target = self.list(&[&[2][..], &target].concat());
                self.add("Broadcast", Attrs::new().with("mode", "numpy"), &[x, target])
            }
            22 => {
                let axes = self.list(&[axis as i64]);
                match self.random.below(3) {
                    0 => self.add("Unsqueeze", Attrs::new(), &[x, axes]),
                    1 => self.add("Squeeze", Attrs::new(), &[x, axes]),
                    _ => self.add("Reverse", Attrs::new().with("mode", "index"), &[x, axes]),
                }
            }
            23 => {
                let op = *self.random.pick(&["SoftMax", "LogSoftmax"]);
                self.add(op, Attrs::new().with("axis", axis as i64), &[x])
            }
            24 => {
                let op = *self.random.pick(&["ReduceSum", "ReduceMax", "ReduceMean", "CumSum"]);
                let attrs = match op {
                    "CumSum" => Attrs::new().with("reverse", self.random.below(2) == 0),
                    _ => Attrs::new().with("keep_dims", self.random.below(2) == 0),
                };
                let axis = self.ints(&[], &[axis as i64]);
                self.add(op, attrs, &[x, axis])
            }
            25 => {
                let repeats: Vec<i64> = (0..rank + 1).map(|_| *self.random.pick(&[1, 1, 2])).collect();
                let first = self.random.below(2) as usize;
                let repeats = self.list(&repeats[first..]);
                self.add("Tile", Attrs::new(), &[x, repeats])
            }
            26 => {
                let dim = dim.filter(|&dim| dim > 0)?;
                let count = 1 + self.random.below(2) as usize;
                let places: Vec<i64> = (0..3 * count).map(|_| self.random.below(dim as u64) as i64).collect();
                let dims = if count == 1 { vec![3] } else { vec![count, 3] };
                let (indices, axis) = (self.ints(&dims, &places), self.ints(&[], &[axis as i64]));
                self.add("Gather", Attrs::new().with("batch_dims", 0), &[x, indices, axis])
            }
            27 => {
                let pad =
                    |random: &mut Random| (0..rank).map(|_| random.below(4) as i64 - 2).collect::<Vec<_>>();
                let (begin, end) = (pad(&mut self.random), pad(&mut self.random));
                let inputs = [x, self.list(&begin), self.list(&end)];
                self.add("Pad", Attrs::new().with("pad_mode", "constant"), &inputs)
            }
            28 => {
                let batch = self.random.below(rank.max(1) as u64) as usize;
                let (count, dim) = (dims.get(batch).copied().flatten()?, dim?);
                // Most sequences have the full length, because such a reversal is a slice.
                let full = self.random.below(4) > 0;
                let length =
                    |random: &mut Random| if full { dim } else { random.below(dim as u64 + 1) as i64 };
                let lengths: Vec<i64> = (0..count).map(|_| length(&mut self.random)).collect();
                let lengths = self.list(&lengths);
                let attrs = Attrs::new().with("batch_axis", batch as i64).with("seq_axis", axis as i64);
                self.add("ReverseSequence", attrs, &[x, lengths])
            }
            29 => {
                let group = dim.filter(|&dim| dim > 0).map_or(1, |dim| self.divisor(dim));
                let attrs = Attrs::new().with("axis", axis as i64).with("group", group);
                self.add("ShuffleChannels", attrs, &[x])
            }
            30 => self.blocks(x, &dims),
            31 | 32 => self.crop(x, axis, dim),
            _ => self.tuples(x, &dims),
        }
    }

    /// DepthToSpace or SpaceToDepth on data reshaped to fit.
    fn blocks(&mut self, x: Value, dims: &[Option<i64>]) -> Option<()> {
        let op = *self.random.pick(&["DepthToSpace", "SpaceToDepth"]);
        let mode = *self.random.pick(&["blocks_first", "depth_first"]);
        let space = dims.len().checked_sub(2).filter(|&space| space > 0)?;
        let block = 1 + self.random.below(3) as i64;
        let repeats: Vec<i64> = match op {
            "DepthToSpace" => [1, block.pow(space as u32)].into_iter().chain(vec![1; space]).collect(),
            _ => [1, 1].into_iter().chain(vec![block; space]).collect(),
        };
        let repeats = self.list(&repeats);
        let fits = self.node("Tile", Attrs::new(), &[x, repeats])?;
        let attrs = Attrs::new().with("block_size", block).with("mode", mode);
        self.add(op, attrs, &[Value { node: fits, port: 0 }])
    }

    /// Crop in one of its three forms.
    fn crop(&mut self, x: Value, axis: usize, dim: Option<i64>) -> Option<()> {
        let dim = dim?;
        let begin = self.random.below(dim as u64 + 1) as i64;
        let len = self.random.below((dim - begin) as u64 + 1) as i64;
        let list = |number: i64| AttrValue::Ints([number].into_iter().collect());
        let attrs = Attrs::new().with("axis", list(axis as i64));
        match self.random.below(3) {
            0 => {
                let attrs = attrs.with("crop_begin", list(begin)).with("crop_end", list(dim - begin - len));
                self.add("Crop", attrs, &[x])
            }
            1 => self.add("Crop", attrs.with("offset", list(begin)).with("dim", list(len)), &[x]),
            _ => {
                let (like, ..) = self.any();
                self.add("Crop", attrs.with("offset", list(begin)), &[x, like])
            }
        }
    }

    /// GatherND of one tuple, or of tuples that vary along at most one axis.
    fn tuples(&mut self, x: Value, dims: &[Option<i64>]) -> Option<()> {
        let width = 1 + self.random.below(dims.len().max(1) as u64) as usize;
        let sizes: Vec<i64> = dims.iter().take(width).copied().collect::<Option<_>>()?;
        if sizes.len() < width || sizes.contains(&0) {
            return None;
        }
        let first: Vec<i64> = sizes.iter().map(|&size| self.random.below(size as u64) as i64).collect();
        let along = self.random.below(width as u64) as usize;
        let room = sizes[along] - first[along];
        let (count, step) = match self.random.below(3) {
            0 => (1, 1),
            1 => (room, 1),
            _ => ((room + 1) / 2, 2),
        };
        let mut tuples = Vec::new();
        for i in 0..count {
            tuples
                .extend(first.iter().enumerate().map(|(k, &at)| if k == along { at + i * step } else { at }));
        }
        let indices = match count {
            1 if self.random.below(2) == 0 => self.list(&tuples),
            _ => self.ints(&[count as usize, width], &tuples),
        };
        self.add("GatherND", Attrs::new().with("batch_dims", 0), &[x, indices])
    }

    /// A random positive divisor.
    fn divisor(&mut self, of: i64) -> i64 {
        let divisors: Vec<i64> = (1..=of).filter(|n| of % n == 0).collect();
        *self.random.pick(&divisors)
    }
}

/// The splitmix64 generator (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) % n
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn shuffle(&mut self, items: &mut [i64]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// A dim in the notation of a Parameter, usually a number.
    fn dim(&mut self) -> String {
        match self.below(10) {
            0 => "N".into(),
            1 => "M".into(),
            2 => "?".into(),
            3 => "2..5".into(),
            n => (n - 2).to_string(),
        }
    }
}
