//! Messages about a wrong slice name the entry, value, axis and size.

use snick_tensor::ElementType;

use super::model::{Source, canonical, counting, given, load, run, text};
use super::rule::Slicing;

fn slice8(start: &[i64], stop: &[i64], step: &[i64], axes: Option<&[i64]>) -> Slicing {
    Slicing {
        masks: None,
        start: start.to_vec(),
        stop: stop.to_vec(),
        step: Some(step.to_vec()),
        axes: axes.map(<[i64]>::to_vec),
    }
}

fn shrinking(begin: &[i64]) -> Slicing {
    let none = vec![0; begin.len()];
    let masks = [none.clone(), none.clone(), none.clone(), vec![1; begin.len()], none.clone()];
    Slicing { masks: Some(masks), start: begin.to_vec(), stop: begin.to_vec(), step: None, axes: None }
}

fn message_of(slicing: &Slicing, shape: &str) -> String {
    let text = text(slicing, shape, ElementType::I32, "i64", [Source::Constant; 4], &[]);
    load(&text).err().unwrap_or_default()
}

#[track_caller]
fn assert_contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn an_index_out_of_range_fails_when_run() {
    let slicing = shrinking(&[1, 7]);
    let text = text(&slicing, "3,5", ElementType::I32, "i64", [Source::Constant; 4], &[]);
    let graph = load(&text).unwrap();
    let error = run(&graph, &[counting(&[3, 5])]).unwrap_err();
    assert_contains(
        &error,
        &[
            "layer `y` (StridedSlice)",
            "begin[1] = 7 is out of range for axis 1 of size 5 (it selects a single element)",
        ],
    );
    let error = run(&canonical(&graph), &[counting(&[3, 5])]).unwrap_err();
    assert_contains(&error, &["index on axis 1 = 7 is out of range"]);
}

#[test]
fn impossible_slices_are_refused_by_inference() {
    let (one, two) = (&[1i64][..], &[1i64, 1][..]);
    assert_contains(
        &message_of(&slice8(two, two, &[1, 0], None), "3,5"),
        &["layer `y` (Slice)", "step[1] = 0"],
    );
    assert_contains(&message_of(&slice8(two, two, two, Some(&[0, 2])), "3,5"), &["axes[1] = 2", "-2..1"]);
    assert_contains(&message_of(&slice8(two, two, two, Some(&[1, -1])), "3,5"), &["axes[1] = -1", "twice"]);
    assert_contains(&message_of(&slice8(two, two, two, None), "3"), &["sliced axes = 2", "at most 1"]);
    assert_contains(
        &message_of(&slice8(one, two, one, None), "3"),
        &["`start` has length 1, `stop` has length 2"],
    );
    assert_contains(&message_of(&slice8(one, one, one, None), ""), &["the data has rank 0"]);
    assert_contains(&message_of(&shrinking(&[0, 0]), "3"), &["entries that take an axis = 2", "at most 1"]);
    let mut slicing = shrinking(&[0]);
    slicing.masks = Some([vec![0], vec![0, 1], vec![], vec![], vec![]]);
    assert_contains(&message_of(&slicing, "3"), &["`end_mask` is \"[0,1]\"", "as many as `begin_mask`: 1"]);
    slicing.masks = Some([vec![2], vec![], vec![], vec![], vec![]]);
    assert_contains(&message_of(&slicing, "3"), &["`begin_mask`", "0 and 1"]);
}

/// Axes known only at run time are checked by the same rules, before and after lowering.
#[test]
fn axes_given_at_run_time_are_checked() {
    for source in [Source::Given, Source::GivenAnyLength] {
        let sources = [source; 4];
        for axes in [[0, 2], [-3, 0], [1, 1], [-1, 1], [5, -7]] {
            let slicing = slice8(&[0, 1], &[2, 3], &[1, 1], Some(&axes));
            let text = text(&slicing, "?,5", ElementType::I32, "i64", sources, &[]);
            let graph = load(&text).unwrap();
            for graph in [&graph, &canonical(&graph)] {
                let mut inputs = vec![counting(&[3, 5])];
                inputs.extend(given(&slicing, sources));
                let error = run(graph, &inputs).unwrap_err();
                assert_contains(&error, &["is out of range", "y"]);
            }
        }
    }
}

/// Lists whose lengths differ, which is known only at run time.
#[test]
fn lengths_given_at_run_time_are_checked() {
    let sources = [Source::GivenAnyLength; 4];
    let ones = |count: usize| vec![1i64; count];
    for (start, stop, axes) in [(2, 1, None), (1, 2, Some(vec![0])), (1, 1, Some(vec![0, 1])), (3, 3, None)] {
        let slicing =
            Slicing { masks: None, start: ones(start), stop: ones(stop), step: Some(ones(start)), axes };
        let graph = load(&text(&slicing, "3,5", ElementType::I32, "i64", sources, &[])).unwrap();
        for graph in [&graph, &canonical(&graph)] {
            let mut inputs = vec![counting(&[3, 5])];
            inputs.extend(given(&slicing, sources));
            assert!(run(graph, &inputs).is_err(), "{slicing:?}");
        }
    }
}
