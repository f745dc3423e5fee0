//! Small random graphs are equivalent to their canonical form. Every application of a rule is checked
//! individually, and canonicalising again changes nothing. The checker also finds rules that are wrong on
//! purpose.
//!
//! `SNICK_GRAPHS` sets the number of graphs and `SNICK_SEED` the first seed.

mod builder;

use snick::{DimPolicy, draw_inputs};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Op, OpError};
use snick_pass::{Pass, RewriteOptions, apply, canonicalise};
use snick_run::{Options, Session};
use snick_tensor::Tensor;

use self::builder::random_graph;
use crate::soundness::assert_sound;

/// The number of graphs in an ordinary test run.
const GRAPHS: u64 = 500;

/// A wrong rule must be found within this many graphs.
const FOUND_WITHIN: u64 = 100;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_graphs_compute_the_same_in_canonical_form() {
    let first = from_env("SNICK_SEED", 0);
    let (mut applied, mut checked, mut unchecked) = (0, 0, 0);
    for seed in first..first + from_env("SNICK_GRAPHS", GRAPHS) {
        let graph = random_graph(seed);
        let text = || format!("seed {seed}\n{}", print(&graph, PrintOptions::default()));
        let mut canonical = graph.clone();
        let options = RewriteOptions::new().check(true).seed(seed);
        let report = canonicalise(&mut canonical, &options);
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), text());
        assert!(report.check_failures.is_empty(), "{}\n{}", report.check_failures[0].report, text());
        assert!(snick_ir::verify(&canonical).is_empty(), "{}", text());
        compare(&graph, &canonical, report.may_round(), &text);
        applied += report.applied.len();
        (checked, unchecked) = (checked + report.checked, unchecked + report.unchecked);
        let again = canonicalise(&mut canonical, &RewriteOptions::new());
        assert!(again.applied.is_empty(), "fires again: {:?}\n{}", again.applied, text());
    }
    assert!(applied > 0);
    assert_eq!(checked + unchecked, applied);
    // Layers that fail for every size cannot be checked.
    assert!(unchecked * 10 < checked, "{unchecked} applications could not be checked, {checked} were");
}

pub fn compare(before: &Graph, after: &Graph, may_round: bool, text: &dyn Fn() -> String) {
    let old = Session::new(before).unwrap();
    // Compares with and without folding and fusion.
    let (without_folding, folded) = (Session::without_folding(after).unwrap(), Session::new(after).unwrap());
    let ways = [
        (1, DimPolicy::Smallest, &folded),
        (2, DimPolicy::Drawn, &without_folding),
        (3, DimPolicy::Drawn, &folded),
    ];
    for (seed, dims, new) in ways {
        let inputs = draw_inputs(before, vec![None; before.parameters().count()], seed, dims).unwrap();
        let run = |session: &Session| {
            session.run(&inputs, Options { keep_going: true, check_facts: true, ..Options::default() })
        };
        let (old, new) = (run(&old), run(new));
        // If a layer fails for all inputs, facts of its dependents are meaningless.
        if old.errors.iter().all(|error| error.error.is_contradiction()) {
            assert_sound(&old, text);
            assert_sound(&new, text);
        }
        for (want, got) in old.values.iter().zip(&new.values) {
            let Some(want) = want else { continue };
            let got = got.as_ref().unwrap_or_else(|| panic!("{:?}\n{}", new.errors, text()));
            assert!(want == got || (may_round && is_close(want, got)), "{want:?}\n{got:?}\n{}", text());
        }
    }
}

fn is_close(a: &Tensor, b: &Tensor) -> bool {
    let (x, y) = (a.to_f64_vec().unwrap(), b.to_f64_vec().unwrap());
    a.dims() == b.dims() && x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-4 * x.abs().max(1.0))
}

/// A wrong rule: turns backward slices into forward slices. The sizes are correct, but the elements are not.
const FORWARDS: Rule = Rule::exact("always-forwards", |patch| {
    reslice(
        patch,
        |start, len, step| if step < 0 { (start + (len - 1) * step, len, -step) } else { (start, len, step) },
    )
});

/// A wrong rule: starts one element earlier if possible.
const ONE_BEFORE: Rule =
    Rule::exact("one-before", |patch| reslice(patch, |start, len, step| ((start - 1).max(0), len, step)));

fn reslice(
    patch: &mut Patch,
    change: fn(i64, i64, i64) -> (i64, i64, i64),
) -> Result<RewriteResult, OpError> {
    let Op::Slice(slice) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    let Some(old) = slice.as_static() else { return Ok(RewriteResult::NoMatch) };
    let axes = old.iter().map(|&(axis, slice)| {
        let (start, len, step) = change(slice.start, slice.len, slice.step);
        (axis, snick_shape::AxisSlice { start, len, step })
    });
    let new = snick_ir::ops::Slice::fixed(axes.collect::<Vec<_>>());
    let data = patch.input(0)?;
    if new.axes == slice.axes {
        Ok(RewriteResult::NoMatch)
    } else {
        patch.add_op(new, &[data]).map(RewriteResult::one)
    }
}

#[test]
fn the_checker_finds_wrong_rules() {
    let wrong: [&'static [Rule]; 2] = [const { &[FORWARDS] }, const { &[ONE_BEFORE] }];
    for rules in wrong {
        let found = (0..FOUND_WITHIN).find(|&seed| {
            let mut graph = random_graph(seed);
            drop(snick_pass::lower_slices(&mut graph));
            let options = RewriteOptions::new().check(true).seed(seed).stop_after(20);
            !apply(&mut graph, &[Pass::of_rules("wrong", rules)], &options).check_failures.is_empty()
        });
        assert!(found.is_some(), "{} passes {FOUND_WITHIN} graphs", rules[0].name());
    }
}
