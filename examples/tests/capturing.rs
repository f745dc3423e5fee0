//! Rules that capture names, a counter or a threshold. Every rewrite is checked.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use snick::{Model, Op, Pass, Report, RewriteOptions, RewriteResult, Rule};

const GRAPH: &str = r#"snick 1
graph "g" {
  %x = Parameter-1 {element_type: f32, shape: "N,4"}
  %zero = Const-1 f32[] <0.0>
  %small = Const-1 f32[] <0.000244140625>
  %a = Add-1(%x, %zero)
  %b = Add-1(%a, %small)
  %c = Negative-1(%b)
  %d = Negative-1(%c)
  %order = Const-1 i64[2] <1, 0>
  %e = Transpose-1(%d, %order)
  %f = Transpose-1(%e, %order)
  %y = Result-1(%f)
}
"#;

fn rewritten(rules: impl Into<Vec<Rule>>) -> Result<(Model, Report), snick::Error> {
    let mut model = snick::parse(GRAPH)?;
    model.infer().into_result()?;
    let passes = [Pass::new("mine", rules)];
    let report = model.apply(&passes, &RewriteOptions::new().check(true).seed(3))?;
    Ok((model, report))
}

/// Replaces named layers by their input.
fn drop_named(names: HashSet<String>) -> Rule {
    Rule::new("drop-named", move |patch| match names.contains(patch.node().name()) {
        true => Ok(RewriteResult::one(patch.input(0)?)),
        false => Ok(RewriteResult::NoMatch),
    })
}

/// Drops an Add of a constant scalar of at most `threshold`, which may change rounding.
fn drop_small_terms(threshold: f64) -> Rule {
    let rule = Rule::new("drop-small-terms", move |patch| {
        if patch.node().op().type_name() != "Add" {
            return Ok(RewriteResult::NoMatch);
        }
        let term = patch.fact(patch.input(1)?)?.as_tensor().and_then(|tensor| tensor.to_f64_vec().ok());
        match term.as_deref() {
            Some(&[term]) if term.abs() <= threshold => Ok(RewriteResult::one(patch.input(0)?)),
            Some(&[term]) => Ok(RewriteResult::declined(format!("{term} is more than {threshold}"))),
            _ => Ok(RewriteResult::NoMatch),
        }
    });
    rule.may_round_within(0.0, threshold)
}

/// Replaces a Transpose of a Transpose by the same order of two axes with its input; counts applications.
fn transpose_of_transpose(applications: Arc<AtomicUsize>) -> Rule {
    Rule::new("transpose-of-transpose", move |patch| {
        let (Op::Transpose(_), Ok(inner)) = (patch.node().op(), patch.input(0)) else {
            return Ok(RewriteResult::NoMatch);
        };
        let Op::Transpose(_) = patch.op_of(inner) else { return Ok(RewriteResult::NoMatch) };
        let orders = [patch.input(1)?, patch.input_of(inner, 1)?];
        let [outer, before] = orders.map(|order| patch.fact(order).ok().and_then(|fact| fact.ints()));
        if outer.as_deref() != Some(&[1, 0]) || before.as_deref() != Some(&[1, 0]) {
            return Ok(RewriteResult::NoMatch);
        }
        applications.fetch_add(1, Ordering::Relaxed);
        Ok(RewriteResult::one(patch.input_of(inner, 0)?))
    })
}

/// Drops a Negative of a Negative; captures nothing.
fn negative_of_negative() -> Rule {
    Rule::new("negative-of-negative", |patch| {
        let is_negative = |op: &Op| op.type_name() == "Negative";
        match patch.input(0) {
            Ok(inner) if is_negative(patch.node().op()) && is_negative(patch.op_of(inner)) => {
                Ok(RewriteResult::one(patch.input_of(inner, 0)?))
            }
            _ => Ok(RewriteResult::NoMatch),
        }
    })
}

#[test]
fn several_rules_that_capture() -> Result<(), snick::Error> {
    let count = Arc::new(AtomicUsize::new(0));
    let rules = [drop_small_terms(1e-3), transpose_of_transpose(Arc::clone(&count)), negative_of_negative()];
    let (model, report) = rewritten(rules)?;
    assert!(report.is_ok(), "{:?}", report.check_failures);
    assert_eq!((report.applied.len(), report.checked, report.unchecked), (4, 4, 0));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert!(report.may_round());
    // Only the input and the output are left.
    assert_eq!(model.graph().len(), 2);
    Ok(())
}

#[test]
fn a_threshold_declines_with_the_reason() -> Result<(), snick::Error> {
    let (_, report) = rewritten([drop_small_terms(1e-4)])?;
    assert_eq!(report.applied.len(), 1);
    assert_eq!(
        (&*report.missed[0].layer, &*report.missed[0].reason),
        ("b", "0.000244140625 is more than 0.0001")
    );
    Ok(())
}

#[test]
fn a_wrong_rule_is_refused_by_the_check() -> Result<(), snick::Error> {
    let (model, report) = rewritten([drop_named(HashSet::from(["a".into(), "c".into()]))])?;
    // Adding zero changes nothing; a Negative does.
    assert_eq!((report.applied.len(), report.check_failures.len()), (1, 1));
    assert_eq!(&*report.applied[0].layer, "a");
    assert!(report.check_failures[0].report.starts_with("drop-named at `c`"));
    assert!(model.graph().find("c").is_some());
    Ok(())
}

/// Clones of a rule share its captures.
#[test]
fn a_rule_serves_several_passes_and_models() -> Result<(), snick::Error> {
    let count = Arc::new(AtomicUsize::new(0));
    let rule = transpose_of_transpose(Arc::clone(&count));
    let passes = [Pass::new("first", [rule.clone()]), Pass::new("second", [rule.clone()])];
    let mut model = snick::parse(GRAPH)?;
    model.infer().into_result()?;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (mut model, passes) = (model.clone(), passes.clone());
            scope.spawn(move || assert!(model.apply(&passes, &RewriteOptions::new()).is_ok()));
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 2);
    assert_eq!(rule.name(), "transpose-of-transpose");
    Ok(())
}
