//! The parts of a model compute together what the whole model computes.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use snick::{
    Error, Graph, Limits, Model, NodeId, Op, RunOptions, Tensor, Value, draw_inputs, input_candidates,
};
use snick_tensor::SplitMix;

/// Cuts through each model.
const CUTS: usize = 3;

#[test]
fn the_parts_of_a_model_compute_what_the_model_computes() {
    let mut compared = 0;
    for (name, model) in super::models() {
        let graph = model.graph();
        let Some(given) = inputs(&model) else { continue };
        let mut random = SplitMix::new(name.bytes().map(u64::from).sum());
        for _ in 0..CUTS {
            let cut = cut(graph, &mut random);
            let Ok(whole) = run(&model, &given, &cut) else { break };
            let inner: HashMap<String, Tensor> =
                cut.iter().map(|name| (name.clone(), whole[name.as_str()].clone())).collect();
            let names: Vec<&str> = cut.iter().map(String::as_str).collect();
            let first = model.extract(&[], &names).unwrap();
            let outputs = run(&first, &given, &[]).unwrap();
            for name in &cut {
                assert_close(&outputs[name.as_str()], &inner[name], name);
            }
            let Ok(second) = model.extract(&names, &[]) else { continue };
            let outputs = run(&second, &given.clone().into_iter().chain(inner).collect(), &[]).unwrap();
            for id in graph.results() {
                let output = graph.node(id).name();
                assert_close(&outputs[output], &whole[output], &format!("{name}: {output} after {cut:?}"));
            }
            compared += 1;
        }
    }
    assert!(compared >= 40, "{compared}");
}

/// Random inputs with which the model runs.
fn inputs(model: &Model) -> Option<HashMap<String, Tensor>> {
    let graph = model.graph();
    let none = vec![None; graph.parameters().count()];
    input_candidates(graph).take(20).find_map(|spec| {
        let inputs = draw_inputs(graph, none.clone(), 0, spec).ok()?;
        let names = graph.parameters().map(|id| graph.node(id).name().to_string());
        let given = names.zip(inputs).collect();
        run(model, &given, &[]).ok().map(|_| given)
    })
}

/// Runs a model on the inputs that it has.
fn run(model: &Model, given: &HashMap<String, Tensor>, inner: &[String]) -> Result<snick::Outputs, Error> {
    let graph = model.graph();
    let names = graph.parameters().map(|id| graph.node(id).name());
    let inputs: Vec<(&str, Tensor)> = names.map(|name| (name, given[name].clone())).collect();
    let limits = Limits::new().time(Duration::from_secs(60));
    model.run_with(inputs, &RunOptions::new().limits(limits).check_facts(true).layers(inner))
}

/// The names of the values that cross a random place of the execution order.
fn cut(graph: &Graph, random: &mut SplitMix) -> Vec<String> {
    let order = graph.order().unwrap();
    let at = random.below(order.len() as u64) as usize;
    let place: HashMap<NodeId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let crosses = |value: &Value| {
        place[&value.node] < at && !matches!(graph.node(value.node).op(), Op::Const(_) | Op::Parameter(_))
    };
    let inputs = order[at..].iter().filter(|&&id| !matches!(graph.node(id).op(), Op::Assign(_)));
    let values: BTreeSet<Value> = inputs.flat_map(|&id| graph.node(id).inputs()).filter(crosses).collect();
    let named = |value: Value| match graph.node(value.node).outs().len() {
        1 => graph.node(value.node).name().to_string(),
        _ => format!("{}:{}", graph.node(value.node).name(), value.port),
    };
    values.into_iter().map(named).collect()
}

#[track_caller]
fn assert_close(got: &Tensor, want: &Tensor, context: &str) {
    assert_eq!((got.element_type(), got.dims()), (want.element_type(), want.dims()), "{context}");
    if got.to_bytes() == want.to_bytes() {
        return;
    }
    // Layers that are fused in the whole model round differently.
    let tolerance = if want.element_type().is_half() { 1e-2 } else { 1e-3 };
    let (got, want) = (got.to_f64_vec().unwrap(), want.to_f64_vec().unwrap());
    for (got, want) in got.into_iter().zip(want) {
        let is_close = (got - want).abs() <= tolerance * (0.1 + want.abs());
        assert!(
            is_close || got == want || got.is_nan() && want.is_nan(),
            "{context}: {got}, expected {want}"
        );
    }
}
