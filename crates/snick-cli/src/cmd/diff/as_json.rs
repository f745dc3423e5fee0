//! The differences as JSON.

use serde::Serialize;
use snick::ModelDiff;

use super::Answer;
use super::run::OutputDiff;
use crate::cli::compare::Comparison;
use crate::cli::json;

#[derive(Serialize)]
struct Content<'a> {
    equal: bool,
    #[serde(flatten)]
    diff: &'a ModelDiff,
    run: Option<Vec<Output<'a>>>,
    /// Omitted if the models were not run, `null` if no layer differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<Option<FirstDifference<'a>>>,
}

#[derive(Serialize)]
struct Output<'a> {
    name: &'a str,
    #[serde(flatten)]
    comparison: &'a Comparison,
    worst_index: Option<Vec<usize>>,
    ok: bool,
}

#[derive(Serialize)]
struct FirstDifference<'a> {
    a: &'a str,
    b: &'a str,
    op: &'a str,
    loc: String,
    loc_b: String,
    max_abs: f64,
    max_rel: f64,
}

/// Writes the whole answer.
pub(super) fn write(answer: &Answer) -> String {
    let first_difference = answer.run.as_ref().map(|run| {
        run.first.as_ref().map(|(a, b, comparison)| {
            let (a, b) = (answer.graphs[0].node(*a), answer.graphs[1].node(*b));
            FirstDifference {
                a: a.name(),
                b: b.name(),
                op: a.op().type_name(),
                loc: a.loc().to_string(),
                loc_b: b.loc().to_string(),
                max_abs: comparison.max_abs,
                max_rel: comparison.max_rel,
            }
        })
    });
    let content = Content {
        equal: answer.is_equal(),
        diff: &answer.diff,
        run: answer.run.as_ref().map(|run| run.outputs.iter().map(output).collect()),
        first_difference,
    };
    json::Answer::new("snick.diff/1", content).text()
}

fn output(OutputDiff { name, comparison, dims }: &OutputDiff) -> Output<'_> {
    let worst_index = comparison.worst.map(|at| index(at, dims));
    Output { name, comparison, worst_index, ok: comparison.is_within() }
}

/// Converts the row-major index of an element to an index along each axis.
fn index(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (own, &dim) in index.iter_mut().zip(dims).rev() {
        let dim = dim.max(1);
        (*own, at) = (at % dim, at / dim);
    }
    index
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_element_in_row_major_order_has_an_index_along_each_axis() {
        assert_eq!(super::index(17, &[2, 3, 4]), [1, 1, 1]);
        assert!(super::index(0, &[]).is_empty());
    }
}
