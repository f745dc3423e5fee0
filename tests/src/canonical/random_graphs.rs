//! Small random graphs are equivalent to their canonical form. Every application of a rule is executed and, if
//! possible, proved, the certificate holds, and canonicalising again changes nothing. The checker also finds
//! rules that are wrong on purpose, and no output that such a rule changes is proved equal.
//!
//! `SNICK_GRAPHS` sets the number of graphs and `SNICK_SEED` the first seed.

mod builder;

use snick::{DimPolicy, draw_inputs};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Op, OpError, infer};
use snick_pass::{
    Pass, RewriteOptions, RewriteStatus, apply, canonicalise, certify_equal, certify_rewrites, check_equal,
    check_rewrites,
};
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
    let (mut applied, mut checked, mut unchecked, mut proved) = (0, 0, 0, 0);
    for seed in first..first + from_env("SNICK_GRAPHS", GRAPHS) {
        let graph = random_graph(seed);
        let text = || format!("seed {seed}\n{}", print(&graph, PrintOptions::default()));
        let mut canonical = graph.clone();
        let options = RewriteOptions::new().seed(seed).execute_proved(true);
        let certified = certify_rewrites(&mut canonical, &options, false);
        let report = certified.report;
        let errors: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), text());
        assert!(report.check_failures.is_empty(), "{}\n{}", report.check_failures[0].report, text());
        assert!(snick_ir::verify(&canonical).is_empty(), "{}", text());
        compare(&graph, &canonical, report.may_round(), &text);
        assert_eq!(certified.rewrites.len(), report.applied.len(), "{}", text());
        assert!(
            certified.rewrites.iter().all(|rewrite| rewrite.status != RewriteStatus::Refuted),
            "{}",
            text()
        );
        proved += certified.rewrites.iter().filter(|rewrite| rewrite.status == RewriteStatus::Proved).count();
        check_rewrites(&certified.certificate, &graph).unwrap_or_else(|error| panic!("{error}\n{}", text()));
        applied += report.applied.len();
        (checked, unchecked) = (checked + report.checked, unchecked + report.unchecked);
        let again = canonicalise(&mut canonical, &RewriteOptions::new());
        assert!(again.applied.is_empty(), "fires again: {:?}\n{}", again.applied, text());
    }
    assert!(applied > 0);
    assert_eq!(checked + unchecked, applied);
    // Layers that fail for every size cannot be checked.
    assert!(unchecked * 10 < checked, "{unchecked} applications could not be checked, {checked} were");
    assert!(proved * 10 > applied * 9, "{proved} of {applied} applications were proved");
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

/// A wrong rule: exchanges the inputs of an operation.
const EXCHANGED: Rule = Rule::exact("exchanged", |patch| {
    let op = patch.node().op().clone();
    match (op.type_name(), patch.inputs_of(patch.output(0))?.as_slice()) {
        ("Concat" | "Subtract", &[a, b]) if a != b => patch.add_op(op, &[b, a]).map(RewriteResult::one),
        _ => Ok(RewriteResult::NoMatch),
    }
});

/// A wrong rule: adds 1 to an integer of a constant.
const INCREMENTED: Rule = Rule::exact("incremented", |patch| {
    let Op::Const(_) = patch.node().op() else { return Ok(RewriteResult::NoMatch) };
    let Some(mut numbers) = patch.fact(patch.output(0))?.ints() else { return Ok(RewriteResult::NoMatch) };
    let Some(last) = numbers.last_mut() else { return Ok(RewriteResult::NoMatch) };
    *last = last.saturating_add(1);
    let fact = patch.fact(patch.output(0))?;
    let dims = fact.shape.as_static().unwrap_or_default();
    let new = Tensor::from_vec(&dims, numbers.to_vec())?.cast(fact.element_type)?;
    patch.constant(new).map(RewriteResult::one)
});

/// A wrong rule: drops an operation that keeps the shape.
const DROPPED: Rule = Rule::exact("dropped", |patch| match patch.node().op() {
    Op::Unary(_) => patch.input(0).map(RewriteResult::one),
    _ => Ok(RewriteResult::NoMatch),
});

/// Whatever is proved equal is equal in every run, and most outputs that a wrong rule changes can be run.
#[test]
fn no_changed_output_is_proved_equal() {
    let first = from_env("SNICK_SEED", 0);
    let (mut different, mut proved) = ([0; 5], 0);
    for seed in first..first + from_env("SNICK_GRAPHS", GRAPHS) {
        let graph = random_graph(seed);
        for (rule, different) in
            [FORWARDS, ONE_BEFORE, EXCHANGED, INCREMENTED, DROPPED].into_iter().zip(&mut different)
        {
            let mut changed = graph.clone();
            drop(snick_pass::lower_slices(&mut changed));
            let options = RewriteOptions::new().stop_after(1 + seed as usize % 3);
            let report = apply(&mut changed, &[Pass::new("wrong", [rule])], &options);
            if report.applied.is_empty() || !infer(&mut changed).is_empty() {
                continue;
            }
            let proofs = certify_equal(&graph, &changed, &RewriteOptions::new(), false);
            let unequal = unequal_outputs(&graph, &changed);
            for (output, is_unequal) in proofs.outputs.iter().zip(unequal) {
                let is_proved = output.reason.is_none();
                proved += usize::from(is_proved);
                *different += usize::from(is_unequal);
                assert!(
                    !(is_proved && is_unequal),
                    "seed {seed}: {} after {}\n{}\n{}",
                    output.name,
                    report.applied[0].rule,
                    print(&graph, PrintOptions::default()),
                    print(&changed, PrintOptions::default())
                );
            }
            check_equal(&proofs.certificate, &graph, &changed).unwrap();
        }
    }
    assert!(different.iter().all(|&count| count > 0) && proved > 0, "{different:?}, {proved}");
}

/// For each output, whether it differs in some run in which no layer before it fails.
fn unequal_outputs(before: &Graph, after: &Graph) -> Vec<bool> {
    let mut unequal = vec![false; before.results().count()];
    let (Ok(old), Ok(new)) = (Session::new(before), Session::new(after)) else { return unequal };
    for (seed, dims) in [(1, DimPolicy::Smallest), (2, DimPolicy::Drawn), (3, DimPolicy::Drawn)] {
        let Ok(inputs) = draw_inputs(before, vec![None; before.parameters().count()], seed, dims) else {
            continue;
        };
        let run = |session: &Session| {
            session.run(&inputs, Options { keep_going: true, ..Options::default() }).values
        };
        for ((want, got), unequal) in run(&old).iter().zip(&run(&new)).zip(&mut unequal) {
            *unequal |= want.is_some() && got.is_some() && want != got;
        }
    }
    unequal
}
