//! Small graphs with one slice, written as text, then inferred, canonicalised and run.

use snick_ir::Graph;
use snick_ir::text::{PrintOptions, print};
use snick_run::{Options, Session};
use snick_tensor::{ElementType, Tensor};

use crate::soundness::assert_sound;

use super::rule::{MASKS, Slicing};

/// Where an index input comes from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A constant of the model.
    Constant,
    /// An input of the model.
    Given,
    /// Like `Given`, with a length known only at run time.
    GivenAnyLength,
    /// Computed from the sizes of the data.
    Computed,
}

/// The slice in text form. For data of sizes `dims`, computed entries have the values of the slice.
pub fn text(
    slicing: &Slicing,
    shape: &str,
    et: ElementType,
    index_type: &str,
    sources: [Source; 4],
    dims: &[usize],
) -> String {
    let mut lines = vec![format!("%x = Parameter-1 {{element_type: {et}, shape: \"{shape}\"}}")];
    let mut inputs = vec!["%x".to_string()];
    let lists = [Some(&slicing.start), Some(&slicing.stop), slicing.step.as_ref(), slicing.axes.as_ref()];
    for ((name, list), source) in ["start", "stop", "step", "axes"].into_iter().zip(lists).zip(sources) {
        let Some(list) = list else { continue };
        inputs.push(format!("%{name}"));
        let count = list.len();
        let values = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        match source {
            // Sums that could overflow i64 are excluded because they are undecidable for an unknown size.
            Source::Computed
                if !dims.is_empty() && count > 0 && list.iter().all(|v| v.unsigned_abs() < 1 << 50) =>
            {
                let own: Vec<i64> = (0..count as i64).map(|i| i % dims.len() as i64).collect();
                let rest: Vec<i64> =
                    list.iter().zip(&own).map(|(&value, &axis)| value - dims[axis as usize] as i64).collect();
                lines.push(format!("%{name}.shape = ShapeOf-3(%x) {{output_type: i64}}"));
                lines.push(format!("%{name}.axes = Const-1 i64[{count}] <{}>", values(&own)));
                lines.push(format!("%{name}.along = Const-1 i64[] <0>"));
                lines.push(format!(
                    "%{name}.sizes = Gather-8(%{name}.shape, %{name}.axes, %{name}.along) {{batch_dims: 0}}"
                ));
                lines.push(format!("%{name}.rest = Const-1 i64[{count}] <{}>", values(&rest)));
                lines.push(format!("%{name} = Add-1(%{name}.sizes, %{name}.rest)"));
            }
            Source::Constant | Source::Computed => {
                lines.push(format!("%{name} = Const-1 {index_type}[{count}] <{}>", values(list)));
            }
            Source::Given | Source::GivenAnyLength => {
                let length = if source == Source::Given { count.to_string() } else { "?".into() };
                lines.push(format!(
                    "%{name} = Parameter-1 {{element_type: {index_type}, shape: \"{length}\"}}"
                ));
            }
        }
    }
    let call = inputs.join(", ");
    lines.push(match &slicing.masks {
        None => format!("%y = Slice-8({call})"),
        Some(masks) => {
            let attrs = MASKS.iter().zip(masks).map(|(name, mask)| format!("{name}: {mask:?}"));
            format!("%y = StridedSlice-1({call}) {{{}}}", attrs.collect::<Vec<_>>().join(", "))
        }
    });
    lines.push("%r = Result-1(%y)".into());
    format!("snick 1\ngraph \"slice\" {{\n  {}\n}}\n", lines.join("\n  "))
}

/// Parses and infers.
pub fn load(text: &str) -> Result<Graph, String> {
    let mut graph = snick_ir::text::parse(text, None).map_err(|e| e.to_string())?;
    match snick_ir::infer(&mut graph).first() {
        Some(error) => Err(error.to_string()),
        None => Ok(graph),
    }
}

/// The canonical form; every slice must be lowered.
pub fn canonical(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let report = snick_pass::canonicalise(&mut graph, &snick_pass::RewriteOptions::new());
    let text = printed(&graph);
    assert!(report.errors.is_empty(), "{}\n{text}", report.errors[0]);
    assert!(report.missed.is_empty(), "{}\n{text}", report.missed[0].reason);
    let wrong = snick_ir::verify(&graph);
    assert!(wrong.is_empty(), "{}\n{text}", wrong[0]);
    graph
}

/// Runs, and checks every value against its inferred facts.
pub fn run(graph: &Graph, inputs: &[Tensor]) -> Result<Tensor, String> {
    let session = Session::new(graph).map_err(|e| e.to_string())?;
    let outputs = session.run(inputs, Options { keep_going: false, check_facts: true, ..Options::default() });
    assert_sound(&outputs, &|| printed(graph));
    Ok(outputs.complete().map_err(|e| e.to_string())?.remove(0))
}

/// The text form, with facts as expressions.
pub fn printed(graph: &Graph) -> String {
    print(graph, PrintOptions::new().symbolic(true))
}

/// The elements `0, 1, 2, ..` with these dims.
pub fn counting(dims: &[usize]) -> Tensor {
    Tensor::from_vec(dims, (0..dims.iter().product::<usize>() as i32).collect()).unwrap()
}

/// The tensors for the index inputs that are inputs of the model.
pub fn given(slicing: &Slicing, sources: [Source; 4]) -> Vec<Tensor> {
    let lists = [Some(&slicing.start), Some(&slicing.stop), slicing.step.as_ref(), slicing.axes.as_ref()];
    let pairs = lists.into_iter().zip(sources);
    let given = pairs.filter(|(_, source)| matches!(source, Source::Given | Source::GivenAnyLength));
    given.filter_map(|(list, _)| Some(Tensor::from_vec(&[list?.len()], list?.clone()).unwrap())).collect()
}
