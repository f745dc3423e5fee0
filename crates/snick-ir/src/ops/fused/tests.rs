//! Inference tests of fused ops from plug-ins. Most of these ops cannot be run.

use crate::{infer, text};

/// Infers a layer and returns the types and shapes of its first outputs, or the error, as text. An input is
/// written as `shape` for f32, as `type:shape`, or as `=number` for a constant.
fn inferred(inputs: &[&str], layer: &str, outputs: usize) -> String {
    let source = |(at, input): (usize, &&str)| {
        if let Some(number) = input.strip_prefix('=') {
            return format!("%p{at} = Const-1 i64[1] <{number}>\n");
        }
        let (element_type, shape) = input.split_once(':').unwrap_or(("f32", input));
        format!("%p{at} = Parameter-1 {{element_type: {element_type}, shape: \"{shape}\"}}\n")
    };
    let layers: String = inputs.iter().enumerate().map(source).collect();
    let names: Vec<_> = (0..inputs.len()).map(|at| format!("%p{at}")).collect();
    let layer = layer.replacen("(..)", &format!("({})", names.join(", ")), 1);
    let port = |port: usize| if port == 0 { "%a".into() } else { format!("%a:{port}") };
    let results: String = (0..outputs).map(|at| format!("%y{at} = Result-1({})\n", port(at))).collect();
    let text = format!("snick 1\ngraph \"g\" {{\n{layers}%a = {layer}\n{results}}}\n");
    let mut graph = match text::parse(&text, None) {
        Ok(graph) => graph,
        Err(error) => return error.to_string(),
    };
    let errors = infer(&mut graph);
    if let Some(error) = errors.first() {
        return error.to_string();
    }
    let facts = graph.results().map(|result| {
        let fact = &graph.node(result).outs()[0].fact;
        format!("{}{}", fact.element_type, fact.shape.display(graph.symbols()))
    });
    facts.collect::<Vec<_>>().join(" ")
}

/// Appends the operation set of internal plug-in ops to the operation type of the layer.
fn internal(layer: &str) -> String {
    layer.replacen("(..)", "-ie_internal_opset(..)", 1)
}

fn extension(layer: &str) -> String {
    layer.replacen("(..)", "-extension(..)", 1)
}

/// Checks the inferred outputs of each layer. A case consists of the inputs, the layer and the expected text.
fn check(set: fn(&str) -> String, cases: &[(&[&str], &str, &str)]) {
    for (inputs, layer, expected) in cases {
        let outputs = expected.split(' ').count();
        assert_eq!(inferred(inputs, &set(layer), outputs), *expected, "{layer}");
    }
}

/// Checks that the error of each layer contains the given part.
fn check_errors(set: fn(&str) -> String, cases: &[(&[&str], &str, &str)]) {
    for (inputs, layer, part) in cases {
        let message = inferred(inputs, &set(layer), 1);
        assert!(message.contains(part), "{layer}: {message}");
    }
}

#[test]
fn fused_layers_have_shapes() {
    check(
        extension,
        &[
            (&["T,64", "T,16", "T,32", "?", "?"], "PagedAttentionExtension(..)", "f32[T,128]"),
            (&["T,64", "T,16", "T,16", "?", "?"], "PagedAttentionExtension(..)", "f32[T,64]"),
            (&["f16:B,L,64", "i64:1"], "RMSNorm(..) {epsilon: 1e-6}", "f16[B,L,64]"),
            (&["...", "i32:", "64"], "RMSNorm(..) {epsilon: 1e-6}", "f32[...]"),
        ],
    );
    check(
        internal,
        &[
            (&["B,L,64", "64"], "RMS(..) {epsilon: 1e-6}", "f32[B,L,64]"),
            (&["B,L,64"], "RMS(..) {epsilon: 1e-6, output_type: f16}", "f16[B,L,64]"),
            (&["B,L,64"], "GLU(..) {axis: -1, split_lengths: 32}", "f32[B,L,32]"),
            (&["B,L,64", "32,64", "32"], "FullyConnected(..)", "f32[B,L,32]"),
            (&["1,T,64", "8,32,4,16", "T,2", "0"], "GatherMatmul(..)", "f32[2,T,32]"),
            (&["B,L,4,8", "1,1,L,8", "1,1,L,8"], "RoPE(..) {input_trans0213: true}", "f32[B,4,L,8]"),
            (
                &["B,L,192", "1,P,1,8", "1,P,1,8"],
                "RoPE(..) {is_qwen: true, head_cnt: 8, head_size: 8}",
                "f32[B,L,8,8]",
            ),
            (
                &["B,L,8", "2,1", "2,1", "2,4,8", "2,4,8", "2,8,4"],
                "MOE(..) {expert_type: gemm3_swiglu}",
                "f32[B,L,8]",
            ),
            (&["B,8", "1", "1", "1", "1", "1"], "MOECompressed(..)", "f32[B,8]"),
            (&["B,8", "1", "1", "1", "1", "1"], "MOECompressed(..) {out_type: f16}", "f16[B,8]"),
        ],
    );
    check_errors(
        internal,
        &[
            (&["B,63", "32,64", "32"], "FullyConnected(..)", "cannot multiply"),
            (&["", "1"], "RMS(..) {epsilon: 1e-6}", "rank"),
            (&["i32:4", "4"], "RMS(..) {epsilon: 1e-6}", "floating-point"),
            (&["B,4"], "GLU(..) {axis: 2, split_lengths: 2}", "axis"),
            (&["B,4"], "GLU(..) {axis: 1, split_lengths: -1}", "split_lengths"),
            (&["8", "1", "1", "1", "1", "1"], "MOE(..) {expert_type: gemm3_swiglu}", "rank"),
        ],
    );
    let axes = "RMSNorm(..) {epsilon: 1e-6}";
    check_errors(
        extension,
        &[
            (&["B,4", "i64:1,1"], axes, "rank"),
            (&["B,4", "f32:1"], axes, "i32 or i64"),
            (&["f32:B,4", "i64:1", "f16:4"], axes, "f16"),
        ],
    );
}

#[test]
fn packed_layers_have_shapes() {
    check(
        internal,
        &[
            (&["u8:V,64", "i64:B,L", "=0", "f16:V,1"], "GatherCompressed(..)", "f16[B,L,64]"),
            (&["u8:V,64", "i64:B,L", "i64:", "f16:V,1"], "GatherCompressed(..)", "f16[?,?,?]"),
            (&["R,3", "u8:2,5,3", "i32:2", "2,5,1"], "GroupedMatMulCompressed(..)", "f32[R,5]"),
            (&["f16:?,M,3", "u8:2,5,3", "2,5,1"], "GroupedMatMulCompressed(..)", "f16[2,M,5]"),
            (&["R,3", "u4:2,5,3,1", "i32:2", "2,5,3,1"], "GroupedMatMulCompressed(..)", "f32[...]"),
            (
                &["f16:B,L,100"],
                "DynamicQuantize(..) {quantization_dt: i8, scale_dt: f16, \
             group_sizes: [\"1\", \"1\", \"32\"]}",
                "i8[B,L,100] f16[B,L,4]",
            ),
            (
                &["R,64"],
                "DynamicQuantize(..) {quantization_dt: u8, scale_dt: f16, zp_dt: u8, \
             quantization_type: asymmetric, group_sizes: [\"2\", \"18446744073709551615\"], \
             scales_zp_output_order: [1, 0]}",
                "u8[R,64] f16[1,(R+1)/2] u8[1,(R+1)/2]",
            ),
            (&["B,64"], "DynamicQuantize(..)", "dynamic[B,64]"),
        ],
    );
    check_errors(
        internal,
        &[
            (&["R,3", "u8:2,5,4", "i32:2", "2,5,1"], "GroupedMatMulCompressed(..)", "cannot multiply"),
            (&["4,3", "i64:2", "i64:2", "f16:4"], "GatherCompressed(..)", "one element"),
            (&["4,3"], "DynamicQuantize(..) {group_sizes: [\"1\"]}", "group sizes"),
            (&["4,3"], "DynamicQuantize(..) {group_sizes: [\"1\", \"0\"]}", "group_sizes"),
        ],
    );
}

#[test]
fn attention_layers_have_shapes() {
    let cached = |past: &'static str, length: &'static str| {
        let past = format!("f16:B,2,{past},8");
        let own = format!("B,4,{length},8");
        let of_keys = format!("B,2,{length},8");
        [own, of_keys.clone(), of_keys, past.clone(), past, "i32:B".into(), "i32:1".into()]
    };
    let layer = extension("GroupQueryAttention(..) {num_heads: 4, kv_num_heads: 2}");
    let attention =
        |inputs: [String; 7], layer: &str| inferred(&inputs.each_ref().map(String::as_str), layer, 3);
    assert_eq!(attention(cached("P", "L"), &layer), "f32[B,L,32] f16[B,2,L+P,8] f16[B,2,L+P,8]");
    // A cache of known length may be a buffer of fixed length, so its length after the step is unknown.
    assert_eq!(attention(cached("64", "1"), &layer), "f32[B,1,32] f16[B,2,?,8] f16[B,2,?,8]");
    let sliding = layer.replace("heads: 2", "heads: 2, sliding_window_cache: true, local_window_size: 64");
    assert_eq!(attention(cached("64", "L"), &sliding), "f32[B,L,32] f16[B,2,64,8] f16[B,2,64,8]");
    assert!(attention(cached("P", "L"), &layer.replace(" 4", " 0")).contains("num_heads"));
    let flat = inferred(&["B,L,32", "B,L,8", "B,L,8", "B,2,P,8", "B,2,P,8", "B", "1"], &layer, 1);
    assert!(flat.contains("rank"), "{flat}");
    check(
        internal,
        &[
            (&["L,4,8", "L,4,8", "L,4,8", "i32:N"], "VLSDPA(..)", "f32[L,4,8]"),
            (&["L,4,8", "L,4,8", "L,4,8", "i32:N"], "VLSDPA(..) {order_q: [1, 0, 2]}", "f32[4,L,8]"),
            (
                &["L,4,8", "L,4,8", "L,4,8", "i32:N"],
                "VLSDPA(..) {order_q: [1, 0, 2], order_out: [1, 0, 2]}",
                "f32[L,4,8]",
            ),
            (&["f16:B,K,H,8", "i64:L,2", "i64:L", "B,Q,H,L,4,2", "B,Q,H,L,4"], "MSDA(..)", "f16[B,Q,8*H]"),
        ],
    );
    check_errors(
        internal,
        &[
            (&["L,4,8", "L,4,8", "L,4,8", "i32:N"], "VLSDPA(..) {order_q: [1, 0]}", "order"),
            (&["L,4,8", "L,4,8", "L,4,8", "i32:N"], "VLSDPA(..) {order_q: [1, 0, 3]}", "axis"),
            (&["L,4,8", "L,4,8", "L,4,8", "N"], "VLSDPA(..)", "integer"),
        ],
    );
}

#[test]
fn layers_with_states_have_shapes() {
    let table = ["i32:4", "i32:4", "i32:4", "i32:4", "i32:4"];
    let with = |first: &[&'static str]| [first, &table].concat();
    let delta = ["B,L,2,8", "B,L,2,8", "B,L,W,4", "f16:B,?,8,4", "B,L,6", "B,L,6"];
    let pages = with(&["T,2,8", "T,2,8", "T,4,?", "P,4,8,6", "T,4", "T,4"]);
    let space = ["H", "N,L,4", "N,L,2,16", "f16:N,L,?,8", "N,L,2,16", "N,4,8,16"];
    let paged_space = with(&["4", "T,4", "T,2,16", "T,4,8", "T,2,16", "f16:P,4,8,16"]);
    let convolution = with(&["T,64", "P,?,4", "64,1,4", "64"]);
    check(
        extension,
        &[
            (&delta, "GatedDeltaNet(..)", "f32[B,L,6,4] f16[B,6,8,4]"),
            (&pages, "PagedGatedDeltaNet(..)", "f32[T,4,6]"),
            (&space, "SelectiveSSM(..)", "f16[N,L,4,8] f32[N,4,8,16]"),
            (&paged_space, "PagedSelectiveSSM(..)", "f32[T,4,8]"),
            (&convolution, "PagedCausalConv1D(..)", "f32[T,64]"),
            (
                &["P,2,16,8", "u8:P,2,16,4", "i32:4", "i32:4", "i32:4", "i32:4"],
                "PaKVReorder(..)",
                "f32[P,2,16,8] u8[P,2,16,4]",
            ),
            // Inputs in the order of older files.
            (
                &["B,L,2,8", "B,L,2,8", "B,L,2,4", "B,L,2", "B,L,2", "B,2,8,4"],
                "GatedDeltaNet(..)",
                "dynamic[...]",
            ),
        ],
    );
    let put = |inputs: &[&'static str], at: usize, input: &'static str| {
        let mut inputs = inputs.to_vec();
        inputs[at] = input;
        inputs
    };
    check_errors(
        extension,
        &[
            (&put(&delta, 5, "B,L,5"), "GatedDeltaNet(..)", "axis 2 of input 5"),
            (&put(&put(&delta, 0, "B,L,4,8"), 1, "B,L,4,8"), "GatedDeltaNet(..)", "a multiple of 4"),
            (&put(&pages, 3, "P,4,9,6"), "PagedGatedDeltaNet(..)", "axis 2 of input 3"),
            (&put(&pages, 6, "f32:4"), "PagedGatedDeltaNet(..)", "i32 or i64"),
            (&put(&put(&space, 2, "N,L,3,16"), 4, "N,L,3,16"), "SelectiveSSM(..)", "3 groups"),
            (&put(&paged_space, 3, "T,4,9"), "PagedSelectiveSSM(..)", "axis 2 of input 5"),
            (&put(&convolution, 2, "64,1,3"), "PagedCausalConv1D(..)", "axis 2 of input 2"),
        ],
    );
}

#[test]
fn recurrent_and_detection_layers_have_shapes() {
    let cell = ["N,3", "N,H", "12,3", "12,?", "12", "N,1"];
    let sequence = ["N,L,3", "N,1,H", "i32:N", "1,12,3", "1,12,?", "1,12", "N,L,1"];
    let limits = ["i32:", "", ""];
    let nms = |boxes, scores| [&[boxes, scores], &limits[..]].concat();
    let limited = |boxes, scores| vec![boxes, scores, "=5", "", ""];
    let anchors = ["2,3", "8,9,3,4", "2,12,8,9", "2,3,8,9"];
    let proposals = "GenerateProposalsIEInternal(..) \
        {min_size: 1.0, nms_threshold: 0.5, pre_nms_count: 100, post_nms_count: 10, roi_num_type: i32}";
    check(
        internal,
        &[
            (&cell, "AUGRUCell(..) {hidden_size: 4}", "f32[N,4]"),
            (&sequence, "AUGRUSequence(..) {hidden_size: 4, direction: forward}", "f32[N,1,L,4] f32[N,1,4]"),
            (
                &nms("2,9,4", "2,3,9"),
                "NonMaxSuppressionIEInternal(..) {output_type: i32}",
                "i32[..54,3] f32[..54,3] i32[1]",
            ),
            (
                &limited("2,9,4", "2,3,9"),
                "NonMaxSuppressionIEInternal(..) {score_output_type: f16}",
                "i64[30,3] f16[30,3] i64[1]",
            ),
            (&limited("2,?,4", "2,3,?"), "NonMaxSuppressionIEInternal(..)", "i64[..30,3] f32[..30,3] i64[1]"),
            (
                &["2,9,4", "2,3,9"],
                "MulticlassNmsIEInternal(..) {nms_top_k: 5, background_class: 0, output_type: i32}",
                "f32[20,6] i32[20,1] i32[2]",
            ),
            (&["N,9,4", "N,3,9"], "MulticlassNmsIEInternal(..) {keep_top_k: 7}", "f32[?,6] i64[?,1] i64[N]"),
            (&anchors, proposals, "f32[20,4] f32[20] i32[2]"),
        ],
    );
    check_errors(
        internal,
        &[
            (
                &["N,3", "N,H", "12,3", "12,?", "12", "N,2"],
                "AUGRUCell(..) {hidden_size: 4}",
                "axis 1 of input 5",
            ),
            (&sequence, "AUGRUSequence(..) {hidden_size: 4, direction: reverse}", "direction"),
            (&nms("2,9,5", "2,3,9"), "NonMaxSuppressionIEInternal(..)", "axis 2 of input 0"),
            (&["2,9,4", "2,3,8"], "MulticlassNmsIEInternal(..)", "axis 2 of input 1"),
        ],
    );
}
