//! Compares the predicted cost of a run with its actual cost.
#![cfg(all(feature = "run", feature = "analyze"))]

use snick::{Error, Limits, Model, RunOptions, Tensor};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Two matrix multiplications with an activation in between; the weights are inputs.
const PERCEPTRON: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,64\"}\n  \
    %w = Parameter-1 {element_type: f32, shape: \"64,256\"}\n  \
    %v = Parameter-1 {element_type: f32, shape: \"256,64\"}\n  \
    %a = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %b = ReLU-1(%a)\n  \
    %c = MatMul-1(%b, %v) {transpose_a: false, transpose_b: false}\n  %d = SoftMax-8(%c) {axis: 1}\n  \
    %y = Result-1(%d)\n}\n";

/// Attention over keys that are as many as the queries. Its scores, computed for some queries at a time, take
/// the most memory.
const ATTENTION: &str = "snick 1\ngraph \"g\" {\n  %q = Parameter-1 {element_type: f32, shape: \"1,T,64\"}\n  \
    %k = Parameter-1 {element_type: f32, shape: \"1,T,64\"}\n  %v = Parameter-1 {element_type: f32, shape: \"1,T,64\"}\n  \
    %a = ScaledDotProductAttention-13(%q, %k, %v) {causal: false}\n  %y = Result-1(%a)\n}\n";

/// A convolution and a group convolution, which split the image into planes.
const CONVOLUTIONS: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,16,S,S\"}\n  \
    %w = Parameter-1 {element_type: f32, shape: \"24,16,3,3\"}\n  \
    %v = Parameter-1 {element_type: f32, shape: \"2,8,12,3,3\"}\n  \
    %a = Convolution-1(%x, %w) {strides: [2,2], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1]}\n  \
    %b = GroupConvolution-1(%a, %v) {strides: [1,1], pads_begin: [2,2], pads_end: [2,2], dilations: [2,2]}\n  \
    %y = Result-1(%b)\n}\n";

/// Attention with a mask.
const MASKED: &str = "snick 1\ngraph \"g\" {\n  %q = Parameter-1 {element_type: f32, shape: \"1,2,T,16\"}\n  \
    %k = Parameter-1 {element_type: f32, shape: \"1,2,T,16\"}\n  %m = Parameter-1 {element_type: f32, shape: \"1,1,T,T\"}\n  \
    %a = ScaledDotProductAttention-13(%q, %k, %k, %m) {causal: false}\n  %y = Result-1(%a)\n}\n";

fn inferred(text: &str) -> Result<Model, Error> {
    let mut model = snick::parse(text)?;
    model.infer().into_result()?;
    Ok(model)
}

/// The smallest memory limit with which a run succeeds, accurate to one part in 200.
fn memory_of(model: &Model, inputs: &[Tensor]) -> Result<u64, Box<dyn std::error::Error>> {
    let (mut less, mut enough) = (0, 1 << 30);
    while enough - less > enough / 200 {
        let limit = less + (enough - less) / 2;
        let options = RunOptions::new().limits(Limits::new().memory(limit));
        let named = inputs.iter().enumerate().map(|(at, tensor)| (at.to_string(), tensor.clone()));
        match model.session()?.run_with(named, &options) {
            Ok(_) => enough = limit,
            Err(Error::Limit { .. }) => less = limit,
            Err(other) => return Err(other.into()),
        }
    }
    Ok(u64::try_from(enough)?)
}

#[test]
fn the_peak_is_what_a_run_takes() -> Tested {
    // A 0 in the dims is replaced by each of the tested sizes.
    for (text, dims, sizes) in [
        (PERCEPTRON, [&[0, 64][..], &[64, 256], &[256, 64]], [256, 1024, 4096]),
        (ATTENTION, [&[1, 0, 64]; 3], [256, 512, 1024]),
        (CONVOLUTIONS, [&[2, 16, 0, 0], &[24, 16, 3, 3], &[2, 8, 12, 3, 3]], [64, 96, 256]),
        (MASKED, [&[1, 2, 0, 16], &[1, 2, 0, 16], &[1, 1, 0, 0]], [128, 256, 512]),
    ] {
        let model = inferred(text)?;
        let cost = model.cost()?;
        for size in sizes {
            let open = |dims: &[usize]| -> Vec<usize> {
                dims.iter().map(|&dim| if dim == 0 { size } else { dim }).collect()
            };
            let inputs: Vec<Tensor> =
                dims.iter().map(|dims| Tensor::full(&open(dims), 0.5f32)).collect::<Result<_, _>>()?;
            let said = cost.peak_bytes.at(&cost.symbols, &|_| i64::try_from(size).ok()).ok_or("a number")?;
            let taken = memory_of(&model, &inputs)?;
            assert!(said.abs_diff(taken) * 10 <= taken, "{size}: {said} is said, {taken} is taken");
        }
    }
    Ok(())
}

#[test]
fn products_are_counted_by_definition() -> Tested {
    let parameter = |name: &str, shape: &str| {
        format!("  %{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
    };
    for (shapes, layer, macs) in [
        (&["B,T,64", "64,32"][..], "MatMul-1(%0, %1) {transpose_a: false, transpose_b: false}", "2048*B*T"),
        (&["B,64,T", "64,32"], "MatMul-1(%0, %1) {transpose_a: true, transpose_b: false}", "2048*B*T"),
        (
            &["N,3,8,8", "16,3,3,3"],
            "Convolution-1(%0, %1) {strides: [1,1], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1], auto_pad: explicit}",
            "27648*N",
        ),
        (
            &["N,8,4,4", "8,1,1,3,3"],
            "GroupConvolution-1(%0, %1) {strides: [1,1], pads_begin: [1,1], pads_end: [1,1], dilations: [1,1], auto_pad: explicit}",
            "1152*N",
        ),
        (
            &["2,4,T,16", "2,4,S,16", "2,4,S,8"],
            "ScaledDotProductAttention-13(%0, %1, %2) {causal: false}",
            "192*T*S",
        ),
        (&["B,I,16", "B,16,J"], "Einsum-7(%0, %1) {equation: \"bik,bkj->bij\"}", "16*B*I*J"),
        (&["N,7"], "ReLU-1(%0)", "0"),
    ] {
        let inputs: String =
            shapes.iter().enumerate().map(|(at, shape)| parameter(&format!("p{at}"), shape)).collect();
        let layer = layer.replace('%', "%p");
        let model =
            inferred(&format!("snick 1\ngraph \"g\" {{\n{inputs}  %a = {layer}\n  %y = Result-1(%a)\n}}\n"))?;
        let cost = model.cost()?;
        assert_eq!(cost.macs.display(&cost.symbols).to_string(), macs, "{layer}");
    }
    Ok(())
}

#[test]
fn a_body_counts_as_often_as_it_runs() -> Tested {
    let model = inferred(
        "snick 1\ngraph \"g\" {\n  %n = Const-1 i64[] <5>\n  %go = Const-1 boolean[] <1>\n  \
         %x = Parameter-1 {element_type: f32, shape: \"B,8\"}\n  %w = Parameter-1 {element_type: f32, shape: \"8,8\"}\n  \
         %loop = Loop-5(%n, %go, %x, %w) {inputs: [\"2 -> 0\", \"3 -> 1\"], \
         outputs: [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\"], back_edges: [1,0]}\n  \
         body graph \"\" {\n    %s = Parameter-1 {element_type: f32, shape: \"?,8\"}\n    \
         %m = Parameter-1 {element_type: f32, shape: \"8,8\"}\n    %on = Const-1 boolean[] <1>\n    \
         %next = MatMul-1(%s, %m) {transpose_a: false, transpose_b: false}\n    \
         %r0 = Result-1(%on)\n    %r1 = Result-1(%next)\n  }\n  %y = Result-1(%loop)\n}\n",
    )?;
    let cost = model.cost()?;
    let [product] = cost.layers.iter().filter(|layer| layer.op == "MatMul").collect::<Vec<_>>()[..] else {
        return Err("one product".into());
    };
    let rows_of_8 = product.macs.at(&cost.symbols, &|_| Some(1)).ok_or("a number")?;
    assert_eq!(rows_of_8, 5 * 64);
    Ok(())
}

#[test]
fn a_run_ends_with_the_fuel_that_is_said() -> Tested {
    let model = inferred(PERCEPTRON)?;
    let cost = model.cost()?;
    assert_eq!(cost.fuel.display(&cost.symbols).to_string(), "3*max(64*N-1,0)+2*max(256*N-1,0)+5");
    for size in [0, 1, 300] {
        let said = cost.fuel.at(&cost.symbols, &|_| Some(size)).ok_or("a number")?;
        let inputs = [[usize::try_from(size)?, 64], [64, 256], [256, 64]];
        let run = |fuel: u64| -> Result<bool, Box<dyn std::error::Error>> {
            let options = RunOptions::new().limits(Limits::new().fuel(usize::try_from(fuel)?));
            let named = inputs.iter().enumerate().map(|(at, dims)| (at.to_string(), dims));
            let named: Vec<(String, Tensor)> = named
                .map(|(name, dims)| Ok((name, Tensor::full(dims, 0.5f32)?)))
                .collect::<Result<_, Error>>()?;
            match model.session()?.run_with(named, &options) {
                Ok(_) => Ok(true),
                Err(Error::Limit { .. }) => Ok(false),
                Err(other) => Err(other.into()),
            }
        };
        assert_eq!((run(said)?, run(said / 4)?), (true, false), "{size}: {said}");
    }
    Ok(())
}
