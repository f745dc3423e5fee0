//! After an edit, the model infers; a failed edit changes nothing.

use std::collections::HashMap;
use std::time::Duration;

use snick::{
    AttrValue, Attrs, Editor, ElementType, Error, Limits, Model, Op, RunOptions, Tensor, draw_inputs,
    input_candidates,
};
use snick_tensor::SplitMix;

/// Edits of each model. There are at least 30 models.
const EDITS: usize = 40;

#[test]
fn an_edit_leaves_a_model_that_infers_or_changes_nothing() {
    let (mut applied, mut refused) = (HashMap::new(), HashMap::new());
    for (name, mut model) in super::models() {
        if !model.infer().errors().is_empty() {
            continue;
        }
        let mut random = SplitMix::new(name.bytes().map(u64::from).sum());
        for _ in 0..EDITS {
            let before = (model.to_text(), model.clone());
            let mut kind = "";
            let edited = model.edit(|editor| {
                kind = edit(editor, &mut random)?;
                Ok(())
            });
            match edited {
                Ok(()) => {
                    let again = model.clone().infer();
                    assert!(again.errors().is_empty(), "{name}, {kind}: {:?}", again.errors());
                    let text = snick::parse(&model.to_text()).unwrap();
                    assert_eq!(text.graph().len(), model.graph().len(), "{name}, {kind}");
                    *applied.entry(kind).or_insert(0) += 1;
                }
                Err(error) => {
                    assert!(matches!(error, Error::Edit { .. }), "{name}: {error}");
                    assert_eq!((model.to_text(), model.clone()), before, "{name}: {error}");
                    *refused.entry(kind).or_insert(0) += 1;
                }
            }
        }
        run(&name, &model);
    }
    assert!(applied.values().sum::<i32>() >= 300, "{applied:?} {refused:?}");
    assert_eq!(applied.len(), KINDS, "{applied:?}");
}

/// Runs an edited model, whose values must agree with inference.
fn run(name: &str, model: &Model) {
    let graph = model.graph();
    let none = vec![None; graph.parameters().count()];
    let Some(inputs) =
        input_candidates(graph).find_map(|spec| draw_inputs(graph, none.clone(), 0, spec).ok())
    else {
        return;
    };
    let names = graph.parameters().map(|id| graph.node(id).name());
    let options = RunOptions::new().check_facts(true).limits(Limits::new().time(Duration::from_secs(20)));
    if let Err(error) = model.run_with(names.zip(inputs), &options) {
        let contradicts = error.diagnostics().iter().any(|found| found.error().is_contradiction());
        assert!(!contradicts, "{name}: {error}\n{}", model.to_text());
    }
}

/// The number of kinds of edits.
const KINDS: usize = 9;

/// One random edit. Returns its kind.
fn edit(editor: &mut Editor, random: &mut SplitMix) -> Result<&'static str, Error> {
    let graph = editor.graph();
    let names: Vec<String> = graph.ids().map(|id| graph.node(id).name().to_string()).collect();
    let mut any = |names: &[String]| match names.len() {
        0 => String::new(),
        len => names[random.below(len as u64) as usize].clone(),
    };
    let of = |is_one: fn(&Op) -> bool| -> Vec<String> {
        let ids = graph.ids().filter(|&id| is_one(graph.node(id).op()));
        ids.map(|id| graph.node(id).name().to_string()).collect()
    };
    let (constants, inputs) = (of(|op| matches!(op, Op::Const(_))), of(|op| matches!(op, Op::Parameter(_))));
    let (one, other, constant, input) = (any(&names), any(&names), any(&constants), any(&inputs));
    match random.below(KINDS as u64) {
        0 => editor.rename(&one, &format!("{other}.renamed")).map(|()| "rename"),
        1 => {
            let node = graph.node(graph.find(&one).unwrap());
            let attrs = node.op().attrs();
            let named: Vec<&str> = attrs.iter().map(|(name, _)| name).collect();
            let Some(attr) = named.first() else { return Ok("set_attr") };
            let attr = named.get(random.below(named.len() as u64) as usize).unwrap_or(attr).to_string();
            let value = match attrs.get(&attr) {
                Some(AttrValue::Int(value)) => AttrValue::Int(value + random.below(3) as i64 - 1),
                Some(AttrValue::Bool(value)) => AttrValue::Bool(!value),
                Some(AttrValue::Ints(values)) => {
                    AttrValue::from(values.iter().map(|value| (value + 1) % 3).collect::<Vec<i64>>())
                }
                Some(value) => value.clone().into_owned(),
                None => AttrValue::Int(0),
            };
            editor.set_attr(&one, &attr, value).map(|()| "set_attr")
        }
        2 => {
            let Some(id) = graph.find(&constant) else { return Ok("replace_constant") };
            let fact = graph.node(id).outputs().next().unwrap();
            let mut dims = fact.shape().as_static().unwrap().to_vec();
            if let Some(dim) = dims.last_mut().filter(|_| random.below(2) == 0) {
                *dim += random.below(3) as usize;
            }
            let zeros = Tensor::zeros(fact.element_type(), &dims)?;
            editor.replace_constant(&constant, &zeros).map(|()| "replace_constant")
        }
        3 => editor.remove(&one).map(|()| "remove"),
        4 => {
            let op = match random.below(3) {
                0 => Op::by_name("ReLU", Attrs::new())?,
                1 => Op::by_name("Convert", Attrs::new().with("destination_type", ElementType::F32))?,
                _ => Op::by_name("ShapeOf", Attrs::new().with("output_type", ElementType::I64))?,
            };
            editor.insert_after(&one, None, op).map(|_| "insert_after")
        }
        5 => editor.redirect(&one, &other).map(|()| "redirect"),
        6 => {
            // Most of the outputs stay, so that something is left of the model.
            let mut outputs: Vec<String> =
                graph.results().map(|id| graph.node(id).name().to_string()).collect();
            outputs.rotate_left(1);
            outputs.push(one);
            editor.set_outputs(&outputs).map(|()| "set_outputs")
        }
        7 => {
            let element_type = if random.below(2) == 0 { ElementType::F16 } else { ElementType::I32 };
            editor.set_input_type(&input, element_type).map(|()| "set_input_type")
        }
        _ => editor.together(|editor| {
            editor.rename(&one, "together")?;
            editor.insert_after("together", Some("behind"), Op::by_name("Abs", Attrs::new())?)?;
            editor.remove("behind").map(|()| "together")
        }),
    }
}
