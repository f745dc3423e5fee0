//! ONNX operators that are read as several ops compute the specified results.

use snick_ir::{Located, Op, OpError};
use snick_onnx as onnx;
use snick_run::{Options, Session};
use snick_tensor::{ElementType, Storage, Tensor, TensorError};

/// A call of one operator.
struct Call {
    node: onnx::Node,
    /// Values that are inputs of the model.
    fed: Vec<Tensor>,
    constants: Vec<Tensor>,
    /// The version of the operator set.
    since: i64,
}

impl Call {
    fn new(op: &str) -> Self {
        let output = vec!["y0".into(), "y1".into(), "y2".into()];
        let node = onnx::Node { op_type: op.into(), output, ..onnx::Node::default() };
        Self { node, fed: vec![], constants: vec![], since: 27 }
    }

    fn since(mut self, version: i64) -> Self {
        self.since = version;
        self
    }

    fn microsoft(mut self) -> Self {
        self.node.domain = "com.microsoft".into();
        self
    }

    fn outputs(mut self, count: usize) -> Self {
        self.node.output.truncate(count);
        self
    }

    fn fed(mut self, tensor: Tensor) -> Self {
        self.node.input.push(format!("x{}", self.fed.len()));
        self.fed.push(tensor);
        self
    }

    fn constant(mut self, tensor: Tensor) -> Self {
        self.node.input.push(format!("c{}", self.constants.len()));
        self.constants.push(tensor);
        self
    }

    fn absent(mut self) -> Self {
        self.node.input.push(String::new());
        self
    }

    fn int(mut self, name: &str, value: i64) -> Self {
        let kind = Some(onnx::kind::INT);
        self.node.attribute.push(onnx::Attribute {
            name: name.into(),
            i: Some(value),
            kind,
            ..Default::default()
        });
        self
    }

    fn ints(mut self, name: &str, values: &[i64]) -> Self {
        let (ints, kind) = (values.to_vec(), Some(onnx::kind::INTS));
        self.node.attribute.push(onnx::Attribute { name: name.into(), ints, kind, ..Default::default() });
        self
    }

    fn text(mut self, name: &str, value: &str) -> Self {
        let (s, kind) = (Some(value.to_string().into_bytes().into()), Some(onnx::kind::STRING));
        self.node.attribute.push(onnx::Attribute { name: name.into(), s, kind, ..Default::default() });
        self
    }

    fn run(self) -> Vec<Tensor> {
        self.result().unwrap()
    }

    /// Runs a model with just this node.
    fn result(self) -> Result<Vec<Tensor>, Located> {
        let number = |tensor: &Tensor| onnx::to_number(tensor.element_type()).unwrap();
        let input = |(i, tensor): (usize, &Tensor)| {
            let dim = |&size: &usize| onnx::Dim { value: Some(onnx::DimValue::Value(size as i64)) };
            let shape = Some(onnx::Shape { dim: tensor.dims().iter().map(dim).collect() });
            let kind = onnx::TensorType { elem_type: number(tensor), shape };
            onnx::ValueInfo { name: format!("x{i}"), ty: Some(onnx::Type { tensor: Some(kind) }) }
        };
        let constant = |(i, tensor): (usize, &Tensor)| onnx::Tensor {
            name: format!("c{i}"),
            dims: tensor.dims().iter().map(|&size| size as i64).collect(),
            data_type: Some(number(tensor)),
            raw_data: Some(tensor.to_bytes().to_vec().into()),
            ..onnx::Tensor::default()
        };
        let output = |name: &String| onnx::ValueInfo { name: name.clone(), ty: None };
        let graph = onnx::Graph {
            input: self.fed.iter().enumerate().map(input).collect(),
            initializer: self.constants.iter().enumerate().map(constant).collect(),
            output: self.node.output.iter().map(output).collect(),
            node: vec![self.node],
            ..onnx::Graph::default()
        };
        let opset =
            |domain: &str, version| onnx::OperatorSet { domain: domain.into(), version: Some(version) };
        let opset_import = vec![opset("", self.since), opset("com.microsoft", 1)];
        let model = onnx::Model { graph: Some(graph), opset_import, ..onnx::Model::default() };
        let mut read = snick_read::onnx::read(&Storage::heap(onnx::encode(&model)), None, "call").unwrap();
        assert!(read.errors.is_empty() && read.notes.is_empty(), "{:?} {:?}", read.errors, read.notes);
        assert_eq!(snick_ir::infer(&mut read.graph), []);
        // The inputs of the graph are in file order.
        assert_eq!(
            read.graph.ids().filter(|&id| matches!(read.graph.node(id).op(), Op::Parameter(_))).count(),
            self.fed.len()
        );
        let session = Session::new(&read.graph).unwrap();
        session.run(&self.fed, Options::default()).complete()
    }

    fn numbers(self) -> Vec<f32> {
        self.run()[0].to_f32_vec().unwrap()
    }
}

fn reals(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_vec(dims, values.to_vec()).unwrap()
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::from_vec(&[values.len()], values.to_vec()).unwrap()
}

fn near(found: &[f32], expected: &[f32]) {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} {expected:?}");
}

/// Sums beyond 2^24, where f32 does not represent every integer.
#[test]
fn integer_products_sum_exactly() {
    const LONG: usize = 600;
    let mut data = vec![255u8; LONG];
    data[7] = 254;
    let weights = || vec![255u8; LONG];
    let expected = [(600 * 255 - 1) * 255];
    let bytes = |dims: &[usize], values| Tensor::from_vec(dims, values).unwrap();
    let row = Call::new("MatMulInteger").outputs(1).fed(bytes(&[1, LONG], data.clone()));
    let sum = row.constant(bytes(&[LONG, 1], weights())).run();
    assert_eq!(
        (sum[0].element_type(), sum[0].to_i64_vec().unwrap().as_slice()),
        (ElementType::I32, &expected[..])
    );
    let image = Call::new("ConvInteger").outputs(1).fed(bytes(&[1, LONG, 1, 1], data.clone()));
    let sum = image.constant(bytes(&[1, LONG, 1, 1], weights())).run();
    assert_eq!(sum[0].to_i64_vec().unwrap(), expected);
    // Weights known only at run time.
    let row = Call::new("MatMulInteger").outputs(1).fed(bytes(&[1, LONG], data));
    assert_eq!(row.fed(bytes(&[LONG, 1], weights())).run()[0].to_i64_vec().unwrap(), expected);
}

/// Quantises to 8 bits with a range that contains 0.
fn rounded(x: f32) -> f32 {
    let (low, high) = (x.min(0.0), x.max(0.0));
    let scale = if low == high { 1.0 } else { (high - low) / 255.0 };
    let zero = (-low / scale).round_ties_even();
    (((x / scale).round_ties_even() + zero).clamp(0.0, 255.0) - zero) * scale
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn quantized_lstm_rounds_its_state_in_each_step() {
    let bytes = |values: [i8; 4]| Tensor::from_vec(&[1, 1, 4], values.to_vec()).unwrap();
    let (w, r) = ([40i8, -70, 90, 20], [-30i8, 60, 25, -110]);
    let bias = [0.1f32, -0.2, 0.3, 0.05, 0.0, 0.1, -0.1, 0.2];
    let (of_w, of_r) = (0.01f32, 0.02f32);
    let x = 0.7f32;
    let scale = |value| reals(&[1], &[value]);
    let zero = || Tensor::from_vec(&[1], vec![0i8]).unwrap();
    let call = Call::new("DynamicQuantizeLSTM").microsoft().int("hidden_size", 1);
    let call = call.fed(reals(&[2, 1, 1], &[x, x])).constant(bytes(w)).constant(bytes(r));
    let call = call.constant(reals(&[1, 8], &bias)).absent().absent().absent().absent();
    let outputs = call.constant(scale(of_w)).constant(zero()).constant(scale(of_r)).constant(zero()).run();
    // Gates: input, output, forget, cell.
    let (mut hidden, mut cell, mut all) = (0f32, 0f32, Vec::new());
    for _ in 0..2 {
        let (x, past) = (rounded(x), rounded(hidden));
        let gate = |i: usize| {
            let product = |x: f32, weight: i8, scale: f32| x * f32::from(weight) * scale;
            product(x, w[i], of_w) + product(past, r[i], of_r) + bias[i] + bias[4 + i]
        };
        cell = sigmoid(gate(2)) * cell + sigmoid(gate(0)) * gate(3).tanh();
        hidden = sigmoid(gate(1)) * cell.tanh();
        all.push(hidden);
    }
    near(&outputs[0].to_f32_vec().unwrap(), &all);
    assert_eq!(outputs[0].dims(), [2, 1, 1, 1]);
    near(&outputs[1].to_f32_vec().unwrap(), &[hidden]);
    near(&outputs[2].to_f32_vec().unwrap(), &[cell]);
}

#[test]
fn lstm_peepholes_read_the_cell_state() {
    let (x, cell) = (0.5f32, 0.4f32);
    let (w, peepholes) = ([0.3f32, -0.6, 0.9, 0.2], [0.7f32, -0.8, 0.5]);
    let call = Call::new("LSTM").int("hidden_size", 1).fed(reals(&[2, 1, 1], &[x, 9.0]));
    let call = call.constant(reals(&[1, 4, 1], &w)).constant(reals(&[1, 4, 1], &[0.0; 4])).absent();
    // The length of the sequence is 1, so the second step changes nothing.
    let call = call.fed(Tensor::from_vec(&[1], vec![1i32]).unwrap()).absent();
    let outputs = call.constant(reals(&[1, 1, 1], &[cell])).constant(reals(&[1, 3], &peepholes)).run();
    let (input, forget) = (sigmoid(x * w[0] + peepholes[0] * cell), sigmoid(x * w[2] + peepholes[2] * cell));
    let cell = forget * cell + input * (x * w[3]).tanh();
    let hidden = sigmoid(x * w[1] + peepholes[1] * cell) * cell.tanh();
    near(&outputs[0].to_f32_vec().unwrap(), &[hidden, 0.0]);
    near(&outputs[1].to_f32_vec().unwrap(), &[hidden]);
    near(&outputs[2].to_f32_vec().unwrap(), &[cell]);
}

#[test]
fn resize_weights_its_neighbours() {
    let line = || Call::new("Resize").outputs(1).fed(reals(&[1, 1, 1, 4], &[1.0, 2.0, 3.0, 4.0]));
    let half = || reals(&[4], &[1.0, 1.0, 1.0, 0.5]);
    // A triangle filter over four elements around the centre of each pair.
    let smooth = || line().text("mode", "linear").absent().constant(half());
    near(&smooth().int("antialias", 1).numbers(), &[1.625, 3.375]);
    near(&smooth().int("antialias", 1).int("exclude_outside", 1).numbers(), &[12.0 / 7.0, 23.0 / 7.0]);
    // Sizes known only at run time.
    let sizes = line().text("mode", "linear").int("antialias", 1).absent().absent().fed(ints(&[1, 1, 1, 2]));
    near(&sizes.numbers(), &[1.625, 3.375]);
    // 0.6 of 4 elements gives two, symmetric about the centre.
    let scales = reals(&[4], &[1.0, 1.0, 1.0, 0.6]);
    let symmetric = line().text("mode", "linear").absent().constant(scales);
    near(
        &symmetric.text("coordinate_transformation_mode", "half_pixel_symmetric").numbers(),
        &[5.0 / 3.0, 10.0 / 3.0],
    );
    // A region twice as long as the line.
    let region = reals(&[8], &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
    let cropped = line().text("mode", "linear").constant(region).absent().constant(ints(&[1, 1, 1, 4]));
    near(
        &cropped.text("coordinate_transformation_mode", "tf_crop_and_resize").numbers(),
        &[1.0, 3.0, 0.0, 0.0],
    );
}

/// Elements `0, 1, ..` along one axis.
fn resize_of_line(len: usize) -> Call {
    let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
    Call::new("Resize").outputs(1).fed(reals(&[1, len], &values))
}

#[test]
fn resize_rounds_the_32_bit_product_of_size_and_scale_down() {
    let scales = || reals(&[2], &[1.0, 224.0 / 706.0]);
    let resized = resize_of_line(706).absent().constant(scales()).run().remove(0);
    assert_eq!(resized.dims(), [1, 223]);
    let of_scales_at_run_time = resize_of_line(706).absent().fed(scales()).run().remove(0);
    assert_eq!(of_scales_at_run_time.dims(), [1, 223]);
    assert_eq!(resized.to_f32_vec().unwrap(), of_scales_at_run_time.to_f32_vec().unwrap());
}

#[test]
fn resize_moves_elements_of_an_axis_that_keeps_its_size() {
    let scales = reals(&[2], &[1.0, 1.25]);
    let resized = resize_of_line(3).text("mode", "linear").absent().constant(scales);
    let resized = resized.text("coordinate_transformation_mode", "asymmetric");
    near(&resized.numbers(), &[0.0, 0.8, 1.6]);
}

#[test]
fn resize_keeps_ties_between_elements() {
    let resized = |rounding: &str| {
        let call = resize_of_line(20).absent().absent().constant(ints(&[1, 6]));
        call.text("nearest_mode", rounding).numbers()
    };
    near(&resized("round_prefer_ceil"), &[1.0, 5.0, 8.0, 11.0, 15.0, 18.0]);
    near(&resized("round_prefer_floor"), &[1.0, 4.0, 8.0, 11.0, 14.0, 18.0]);
}

#[test]
fn resize_in_proportion_maps_all_axes_by_one_scale() {
    let values: Vec<f32> = (0..6u8).map(f32::from).collect();
    let resized = |policy: &str| {
        let call = Call::new("Resize").outputs(1).fed(reals(&[2, 3], &values)).absent().absent();
        let call = call.constant(ints(&[3, 4])).text("mode", "linear");
        call.text("coordinate_transformation_mode", "asymmetric").text("keep_aspect_ratio_policy", policy)
    };
    // Ratios of 4 / 3 and 3 / 2.
    let smaller = resized("not_larger").run().remove(0);
    assert_eq!(smaller.dims(), [3, 4]);
    near(&smaller.to_f32_vec().unwrap()[..4], &[0.0, 0.75, 1.5, 2.0]);
    near(&smaller.to_f32_vec().unwrap()[4..8], &[2.25, 3.0, 3.75, 4.25]);
    let larger = resized("not_smaller").run().remove(0);
    assert_eq!(larger.dims(), [3, 5]);
    near(&larger.to_f32_vec().unwrap()[..5], &[0.0, 2.0 / 3.0, 4.0 / 3.0, 2.0, 2.0]);
}

#[test]
fn the_first_resize_rounds_up_where_it_shrinks() {
    let resized = |scales: &[f32]| {
        let values: Vec<f32> = (0..8u8).map(f32::from).collect();
        let call = Call::new("Resize").outputs(1).fed(reals(&[2, 4], &values)).since(10);
        call.constant(reals(&[2], scales)).numbers()
    };
    near(&resized(&[1.0, 0.6]), &[0.0, 2.0, 4.0, 6.0]);
    near(&resized(&[1.5, 0.6]), &[0.0, 2.0, 0.0, 2.0, 4.0, 6.0]);
    // If no size changes, the data is copied. Otherwise an axis of unchanged size is resampled.
    near(&resized(&[1.25, 1.2]), &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    near(&resized(&[1.25, 0.5]), &[0.0, 2.0, 0.0, 2.0]);
}

#[test]
fn grid_sample_interpolates_in_volumes() {
    let values: Vec<f32> = (0..8u8).map(f32::from).collect();
    let places = [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 3.0, -1.0, -1.0];
    let sample = |mode: &str, padding: &str| {
        let call = Call::new("GridSample").outputs(1).text("mode", mode).text("padding_mode", padding);
        let call = call.int("align_corners", 1).fed(reals(&[1, 1, 2, 2, 2], &values));
        call.fed(reals(&[1, 1, 1, 4, 3], &places)).numbers()
    };
    near(&sample("linear", "zeros"), &[0.0, 7.0, 3.5, 0.0]);
    near(&sample("linear", "border"), &[0.0, 7.0, 3.5, 1.0]);
    near(&sample("linear", "reflection"), &[0.0, 7.0, 3.5, 0.0]);
    // A tie goes to the even pixel.
    near(&sample("nearest", "border"), &[0.0, 7.0, 0.0, 1.0]);
}

#[test]
fn col2im_handles_three_spatial_axes() {
    let columns: Vec<f32> = (0..8u8).map(f32::from).collect();
    let call = Call::new("Col2Im").outputs(1).fed(reals(&[1, 2, 4], &columns));
    let image = call.fed(ints(&[2, 2, 2])).fed(ints(&[1, 1, 2])).run();
    assert_eq!(image[0].dims(), [1, 1, 2, 2, 2]);
    near(&image[0].to_f32_vec().unwrap(), &[0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]);
}

#[test]
fn linear_attention_decays_and_updates_its_state() {
    let call = Call::new("LinearAttention").outputs(2).int("q_num_heads", 1).int("kv_num_heads", 1);
    let token = |values: [f32; 2]| reals(&[1, 2, 1], &values);
    let call = call.fed(token([2.0, 3.0])).fed(token([0.5, 0.25])).fed(token([4.0, 8.0])).absent();
    let call = call.fed(token([0.0, -0.5])).fed(token([1.0, 0.5]));
    let outputs = call.run();
    // The state decays, and then its entry for the key moves towards the value.
    let first = 0.5 * 4.0f32;
    let kept = (-0.5f32).exp() * first;
    let second = kept + 0.25 * 0.5 * (8.0 - 0.25 * kept);
    near(&outputs[0].to_f32_vec().unwrap(), &[2.0 * first, 3.0 * second]);
    near(&outputs[1].to_f32_vec().unwrap(), &[second]);
}

/// In the IR a negative trip count means no limit.
#[test]
fn a_loop_with_a_negative_trip_count_runs_no_iteration() {
    let value = |name: &str| onnx::ValueInfo { name: name.into(), ty: None };
    let double = onnx::Node {
        op_type: "Add".into(),
        input: vec!["s".into(), "s".into()],
        output: vec!["t".into()],
        ..onnx::Node::default()
    };
    let body = onnx::Graph {
        node: vec![double],
        input: ["i", "go", "s"].map(value).to_vec(),
        output: ["go", "t"].map(value).to_vec(),
        ..onnx::Graph::default()
    };
    let looped = |count: i64, known: bool| {
        let (count, start) = (Tensor::scalar(count), reals(&[2], &[1.0, -3.0]));
        let call = Call::new("Loop").outputs(1);
        let call = if known { call.constant(count) } else { call.fed(count) };
        let mut call = call.absent().fed(start);
        call.node.attribute.push(onnx::Attribute {
            name: "body".into(),
            g: Some(Box::new(body.clone())),
            kind: Some(onnx::kind::GRAPH),
            ..onnx::Attribute::default()
        });
        call.numbers()
    };
    for known in [false, true] {
        for count in [i64::MIN, -1, 0] {
            assert_eq!(looped(count, known), [1.0, -3.0]);
        }
        assert_eq!(looped(2, known), [4.0, -12.0]);
    }
}

#[test]
fn gather_refuses_indices_outside_of_the_axis() {
    let gathered = |indices: Tensor| {
        let data = reals(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        Call::new("Gather").outputs(1).int("axis", 0).fed(data).fed(indices).result()
    };
    assert_eq!(gathered(ints(&[-3, 2])).unwrap()[0].to_f32_vec().unwrap(), [1.0, 2.0, 5.0, 6.0]);
    for index in [3, -4] {
        for indices in [ints(&[0, index]), Tensor::scalar(index)] {
            let OpError::WithInputs { error, .. } = gathered(indices).unwrap_err().error else { panic!() };
            assert_eq!(*error, OpError::Tensor(TensorError::IndexOutOfRange { index, dim: 3 }));
        }
    }
}

#[test]
fn nan_is_kept_and_found_first() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let row = || reals(&[1, 6], &[1.0, nan, -inf, 3.0, nan, inf]);
    for op in ["ArgMax", "ArgMin"] {
        let call = |last| Call::new(op).outputs(1).int("axis", 1).int("select_last_index", last).fed(row());
        assert_eq!([0, 1].map(|last| call(last).run()[0].to_i64_vec().unwrap()[0]), [1, 4], "{op}");
    }
    let best = |largest| {
        let call = Call::new("TopK").outputs(2).int("axis", 1).int("largest", largest).fed(row());
        call.constant(ints(&[3])).run()[1].to_i64_vec().unwrap()
    };
    assert_eq!([best(1), best(0)], [[1, 4, 5], [2, 0, 3]]);
    for op in ["HardSigmoid", "ReduceMax", "ReduceMin", "GlobalMaxPool"] {
        let call = Call::new(op).outputs(1).fed(reals(&[1, 1, 1], &[nan]));
        assert!(call.numbers()[0].is_nan(), "{op}");
    }
    for op in ["Max", "Min"] {
        for [a, b] in [[1.0, nan], [nan, 1.0]] {
            let call = Call::new(op).outputs(1).fed(reals(&[1], &[a])).fed(reals(&[1], &[b]));
            assert!(call.numbers()[0].is_nan(), "{op} {a} {b}");
        }
    }
}

#[test]
fn extremes_of_nothing_are_infinite() {
    for (op, limit) in [("ReduceMax", f64::NEG_INFINITY), ("ReduceMin", f64::INFINITY)] {
        for et in [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64] {
            let call = Call::new(op).outputs(1).fed(Tensor::zeros(et, &[2, 0]).unwrap());
            let found = call.constant(ints(&[1])).run();
            assert_eq!((found[0].element_type(), found[0].to_f64_vec().unwrap()), (et, vec![limit; 2]));
        }
    }
}

#[test]
fn transposed_convolution_crops_odd_padding_at_the_beginning_unless_it_is_upper() {
    let call = |auto_pad, stride| {
        let call =
            Call::new("ConvTranspose").outputs(1).text("auto_pad", auto_pad).ints("strides", &[stride]);
        call.fed(reals(&[1, 1, 3], &[1.0, 2.0, 3.0])).constant(reals(&[1, 1, 3], &[1.0, 10.0, 100.0]))
    };
    let begin_cropped = [10.0, 102.0, 20.0, 203.0, 30.0, 300.0];
    let end_cropped = [1.0, 10.0, 102.0, 20.0, 203.0, 30.0];
    for auto_pad in ["NOTSET", "VALID", "SAME_LOWER"] {
        assert_eq!(call(auto_pad, 2).ints("output_shape", &[6]).numbers(), begin_cropped, "{auto_pad}");
    }
    assert_eq!(call("SAME_UPPER", 2).ints("output_shape", &[6]).numbers(), end_cropped);
    assert_eq!(call("SAME_LOWER", 2).numbers(), begin_cropped);
    assert_eq!(call("SAME_UPPER", 2).numbers(), end_cropped);
    // Filters shorter than a stride leave nothing to crop.
    let apart = [1.0, 10.0, 100.0, 0.0, 2.0, 20.0, 200.0, 0.0, 3.0, 30.0, 300.0];
    for auto_pad in ["SAME_LOWER", "SAME_UPPER"] {
        assert_eq!(call(auto_pad, 4).numbers(), apart, "{auto_pad}");
    }
}

#[test]
fn extreme_places_on_no_lines_are_none() {
    for op in ["ArgMax", "ArgMin"] {
        let call = |dims: &[usize], keep| {
            let call = Call::new(op).outputs(1).int("axis", 0).int("keepdims", keep);
            call.fed(Tensor::zeros(ElementType::F32, dims).unwrap()).run().remove(0)
        };
        for (keep, dims) in [(1, &[1, 0][..]), (0, &[0])] {
            assert_eq!(call(&[0, 0], keep).dims(), dims, "{op}");
        }
        assert_eq!(call(&[2, 0], 1).dims(), [1, 0]);
    }
}
