//! The conformance suite `conformance/cases/slices.jsonl`: cases chosen by rule, answers computed by
//! [`super::rule`].
//!
//! The file is data for any implementation. `SNICK_WRITE_CONFORMANCE=1` writes it again.

use serde_json::{Value, json};
use snick_tensor::ElementType;

use super::model::{Source, canonical, counting, load, run, text};
use super::rule::{MASKS, Plan, Refused, Slicing, walk};
use crate::files;

/// One axis of the data: its size, or its minimum and maximum size.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Size {
    Is(usize),
    In(usize, Option<usize>),
}

#[derive(Clone, PartialEq, Debug)]
struct Case {
    rule: &'static str,
    slicing: Slicing,
    shape: Vec<Size>,
    index_type: &'static str,
}

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;

fn is(dims: &[usize]) -> Vec<Size> {
    dims.iter().map(|&dim| Size::Is(dim)).collect()
}

fn listed(numbers: &[[i64; 3]], axes: Option<&[i64]>) -> Slicing {
    let column = |i: usize| numbers.iter().map(|n| n[i]).collect();
    Slicing {
        masks: None,
        start: column(0),
        stop: column(1),
        step: Some(column(2)),
        axes: axes.map(<[i64]>::to_vec),
    }
}

fn strided(numbers: &[[i64; 3]], masks: [&[u8]; 5]) -> Slicing {
    Slicing { masks: Some(masks.map(<[u8]>::to_vec)), ..listed(numbers, None) }
}

/// All cases, each with the name of the rule that it demonstrates.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |rule: &'static str, slicing: Slicing, shape: &[Size]| {
        cases.push(Case { rule, slicing, shape: shape.to_vec(), index_type: "i64" });
    };
    let five = is(&[5]);
    for step in [-5, -2, -1, 1, 2, 5] {
        for start in [-6, -5, -1, 0, 2, 4, 5] {
            for stop in [-6, -1, 0, 3, 5] {
                add("clamping", listed(&[[start, stop, step]], None), &five);
            }
        }
    }
    for start in [-11, -10, -4, MIN] {
        for stop in [-100, -4, MIN] {
            add("backward-start-below", listed(&[[start, stop, -1]], None), &is(&[10]));
            add("backward-start-below", listed(&[[start, stop, -1]], None), &is(&[1]));
        }
    }
    let far = [MIN, MIN + 1, i64::from(i32::MIN), i64::from(i32::MAX), 1 << 32, MAX - 1, MAX];
    for value in far {
        for step in [-1, 1] {
            add("extreme-start", listed(&[[value, if step > 0 { MAX } else { MIN }, step]], None), &five);
            add("extreme-stop", listed(&[[if step > 0 { 0 } else { -1 }, value, step]], None), &five);
        }
        let (start, stop) = if value > 0 { (1, MAX) } else { (-2, MIN) };
        add("extreme-step", listed(&[[start, stop, value]], None), &five);
    }
    for step in [-2, -1, 1, 2] {
        for (start, stop) in [(0, 0), (0, MAX), (-1, MIN), (3, -3)] {
            add("empty-axis", listed(&[[start, stop, step]], None), &is(&[0]));
            add("empty-axis", listed(&[[start, stop, step]], Some(&[1])), &is(&[2, 0]));
        }
    }
    for axes in [None, Some(&[0i64, 1][..]), Some(&[1, 0]), Some(&[-1, -3]), Some(&[2, -2]), Some(&[0, -3])] {
        add("axes", listed(&[[1, 3, 1], [-1, MIN, -2]], axes), &is(&[3, 4, 2]));
    }
    for axes in [[0i64, 0], [3, 0], [0, -4], [1, -2]] {
        add("axes-refused", listed(&[[0, 1, 1], [0, 1, 1]], Some(&axes)), &is(&[3, 4, 2]));
    }
    add("no-entries", listed(&[], None), &is(&[2, 3]));
    add("no-entries", listed(&[], Some(&[])), &is(&[2, 3]));
    add("no-entries", strided(&[], [&[], &[], &[], &[], &[]]), &is(&[2, 3]));
    add("scalar", listed(&[], None), &[]);
    add("scalar", strided(&[], [&[], &[], &[], &[], &[]]), &[]);
    add("scalar", strided(&[[0, 0, 0]], [&[0], &[0], &[1], &[0], &[0]]), &[]);
    add("scalar", strided(&[[0, 0, 1]], [&[0], &[0], &[0], &[0], &[1]]), &[]);
    add("scalar", strided(&[[0, 1, 1]], [&[0], &[0], &[0], &[0], &[0]]), &[]);
    add("too-many-entries", listed(&[[0, 1, 1]; 2], None), &five);
    add("too-many-entries", strided(&[[0, 1, 1]; 2], [&[0, 0], &[], &[], &[], &[]]), &five);
    add("step-0", listed(&[[0, 1, 0]], None), &five);
    add("step-0", strided(&[[0, 1, 0]], [&[0], &[0], &[], &[], &[]]), &five);
    add("step-0", strided(&[[2, 1, 0]], [&[0], &[0], &[], &[1], &[]]), &five);
    add("step-0", strided(&[[2, 1, 0]], [&[0], &[0], &[1], &[], &[]]), &five);
    let mut unequal = listed(&[[0, 1, 1]], None);
    unequal.stop.push(1);
    add("lengths-differ", unequal, &is(&[3, 3]));
    // Every combination of the five bits on one entry, before another.
    for bits in 0..32u8 {
        let bit = |i: u8| [bits >> i & 1, 0];
        let masks = [bit(0), bit(1), bit(2), bit(3), bit(4)];
        let masks = [&masks[0][..], &masks[1], &masks[2], &masks[3], &masks[4]];
        add("precedence", strided(&[[1, 2, 1], [0, 3, 2]], masks), &is(&[3, 4]));
        add("precedence", strided(&[[-1, -3, -1], [3, 0, -2]], masks), &is(&[3, 4]));
    }
    for step in [-2, -1, 1, 2] {
        for (begin, end) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let masks = [&[begin][..], &[end], &[], &[], &[]];
            for [start, stop] in [[1, 3], [-2, -5], [9, -9]] {
                add("begin-end-mask", strided(&[[start, stop, step]], masks), &five);
            }
        }
    }
    for index in [-6, -5, -1, 0, 4, 5, MIN, MAX] {
        for (stop, step) in [(0, 1), (-9, -1), (7, 0)] {
            let masks = [&[0u8][..], &[0], &[], &[1], &[]];
            add("shrink", strided(&[[index, stop, step]], masks), &is(&[5, 2]));
            let masks = [&[1u8][..], &[1], &[], &[1], &[]];
            add("shrink-ignores-begin-mask", strided(&[[index, stop, step]], masks), &is(&[5, 2]));
        }
        add("shrink-empty-axis", strided(&[[index, 0, 1]], [&[0], &[0], &[], &[1], &[]]), &is(&[0]));
    }
    for at in 0..3 {
        let ellipsis: Vec<u8> = (0..3).map(|i| u8::from(i == at)).collect();
        let numbers = [[1, 2, 1], [0, 2, 1], [-1, MIN, -1]];
        for dims in [&[2usize, 3][..], &[2, 2, 3], &[2, 2, 2, 2], &[2]] {
            let masks = [&[0u8, 0, 0][..], &[0, 0, 0], &[], &[], &ellipsis];
            add("ellipsis", strided(&numbers, masks), &is(dims));
            let new_axis: Vec<u8> = (0..3).map(|i| u8::from(i == (at + 1) % 3)).collect();
            let masks = [&[0u8, 0, 0][..], &[], &new_axis, &[], &ellipsis];
            add("ellipsis-new-axis", strided(&numbers, masks), &is(dims));
        }
    }
    let two = [[0, 1, 1], [1, 3, 1]];
    add("two-ellipses", strided(&two, [&[0, 0], &[], &[], &[], &[1, 1]]), &is(&[2, 3]));
    add("two-ellipses", strided(&two, [&[0, 0, 0], &[], &[], &[], &[1, 0, 1]]), &is(&[2, 3]));
    add("mask-lengths", strided(&two, [&[1], &[0], &[], &[], &[]]), &is(&[2, 3]));
    add(
        "mask-lengths",
        strided(&two, [&[1, 0, 1, 1], &[0; 4], &[0, 0, 1, 1], &[0, 0, 1, 0], &[]]),
        &is(&[2, 3]),
    );
    add("mask-lengths", strided(&two, [&[1, 0], &[0], &[], &[], &[]]), &is(&[2, 3]));
    add("mask-lengths", strided(&two, [&[], &[1, 1], &[], &[], &[]]), &is(&[2, 3]));
    let mut bare = strided(&two, [&[0, 0], &[], &[], &[], &[]]);
    bare.step = None;
    add("no-stride", bare, &is(&[2, 3]));
    let shrink_and_new = [[0, 0, 1], [0, 0, 1], [-1, 0, 1]];
    let masks: [&[u8]; 5] = [&[0, 0, 0], &[], &[1, 0, 0], &[0, 1, 1], &[]];
    add("shrink-and-new-axis", strided(&shrink_and_new, masks), &is(&[2, 3]));
    // Sizes that are only known to lie in an interval.
    let open = [(3, Some(10)), (2, None), (0, None), (0, Some(12)), (6, Some(9)), (1, Some(1))];
    for (lo, hi) in open {
        let shape = [Size::In(lo, hi)];
        for numbers in [
            [-5, 2, 1],
            [-8, 7, 1],
            [3, -3, -1],
            [-1000, -2, -1],
            [-4, -4, -1],
            [-1, 3, 1],
            [0, -3, -2],
            [0, MAX, 1],
            [0, MAX, 2],
            [1, MAX, 1],
            [0, -1, 1],
            [-1, MIN, -1],
            [-3, MIN, -1],
            [2, -2, 1],
            [5, 3, 1],
            [-3, 7, 1],
        ] {
            add("interval", listed(&[numbers], None), &shape);
        }
        for (begin, end) in [(0, 1), (1, 0), (1, 1)] {
            for numbers in [[2, -5, -1], [2, -5, 1], [-2, 4, -2]] {
                let masks = [&[begin][..], &[end], &[], &[], &[]];
                add("interval-masked", strided(&[numbers], masks), &shape);
            }
        }
    }
    let types: [(&str, i64, i64); 7] = [
        ("i8", -128, 127),
        ("u8", 0, 255),
        ("i16", -32768, 32767),
        ("u16", 0, 65535),
        ("i32", i64::from(i32::MIN), i64::from(i32::MAX)),
        ("u32", 0, i64::from(u32::MAX)),
        ("u64", 0, MAX),
    ];
    for (index_type, least, most) in types {
        for (start, stop) in [(0, most), (1, 3), (least, 2), (most, least)] {
            let slicing = listed(&[[start, stop, 1]], None);
            cases.push(Case { rule: "index-types", slicing, shape: five.clone(), index_type });
        }
    }
    cases
}

/// The hull of the lengths over an interval of sizes. Beyond a size of 100 the bounds of the cases make no
/// difference.
fn hull(lo: usize, hi: Option<usize>, length: impl Fn(usize) -> usize) -> String {
    let lengths: Vec<usize> = (lo..=hi.unwrap_or(200)).map(&length).collect();
    let least = lengths.iter().min().copied().unwrap_or(0);
    let most = lengths.iter().max().copied().unwrap_or(0);
    let grows = hi.is_none() && length(2000) > length(1000);
    match (least, grows) {
        (0, true) => "?".into(),
        (least, true) => format!("{least}.."),
        (least, false) if least == most => least.to_string(),
        (0, false) => format!("..{most}"),
        (least, false) => format!("{least}..{most}"),
    }
}

fn dims_of(shape: &[Size]) -> Option<Vec<usize>> {
    let size = |size: &Size| if let Size::Is(size) = size { Some(*size) } else { None };
    shape.iter().map(size).collect()
}

/// The outcome of a case according to the rule.
fn expected(case: &Case) -> Value {
    if let Some(dims) = dims_of(&case.shape) {
        return match case.slicing.select(&dims) {
            Ok((dims, indices)) => json!({ "dims": dims, "indices": indices }),
            Err(Refused::Infer) => json!({ "refused": "infer" }),
            Err(Refused::Run) => json!({ "refused": "run" }),
        };
    }
    let (walks, outs): Plan = case.slicing.plan(case.shape.len()).unwrap();
    let dim = |out: &Option<usize>| {
        let Some(axis) = *out else { return "1".to_string() };
        let (lo, hi) = match case.shape[axis] {
            Size::Is(size) => (size, Some(size)),
            Size::In(lo, hi) => (lo, hi),
        };
        match walks.iter().find(|walk| walk.axis == axis) {
            Some(w) => hull(lo, hi, |size| walk(size as i64, w.start, w.stop, w.step).len()),
            None => hull(lo, hi, |size| size),
        }
    };
    json!({ "dims": outs.iter().map(dim).collect::<Vec<_>>() })
}

/// A case as JSON, with keys in reading order.
fn line(number: usize, case: &Case) -> String {
    let Case { rule, slicing, shape, index_type } = case;
    let mut line: Vec<(&str, Value)> = Vec::new();
    line.push(("id", format!("{number:04}-{rule}").into()));
    line.push(("rule", (*rule).into()));
    line.push(("op", if slicing.masks.is_some() { "StridedSlice-1" } else { "Slice-8" }.into()));
    let size = |size: &Size| match *size {
        Size::Is(size) => json!(size),
        Size::In(..) => json!(shape_text(&[*size])),
    };
    line.push(("shape", shape.iter().map(size).collect()));
    line.push(("index_type", (*index_type).into()));
    let names = if slicing.masks.is_some() { ["begin", "end", "stride"] } else { ["start", "stop", "step"] };
    let lists = [Some(&slicing.start), Some(&slicing.stop), slicing.step.as_ref(), slicing.axes.as_ref()];
    for (name, list) in names.into_iter().chain(["axes"]).zip(lists) {
        line.extend(list.map(|list| (name, json!(list))));
    }
    for (name, mask) in MASKS.iter().zip(slicing.masks.iter().flatten()) {
        line.push((name, json!(mask)));
    }
    line.push(("expect", expected(case)));
    let entries: Vec<String> = line.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", entries.join(","))
}

fn shape_text(shape: &[Size]) -> String {
    let size = |size: &Size| match *size {
        Size::Is(size) => size.to_string(),
        Size::In(0, None) => "?".into(),
        Size::In(lo, None) => format!("{lo}.."),
        Size::In(lo, Some(hi)) => format!("{lo}..{hi}"),
    };
    shape.iter().map(size).collect::<Vec<_>>().join(",")
}

#[test]
fn the_suite_is_generated_from_the_rule() {
    let lines = cases().iter().enumerate().map(|(i, case)| line(i, case) + "\n").collect::<String>();
    let path = files::root().join("conformance/cases/slices.jsonl");
    if std::env::var_os("SNICK_WRITE_CONFORMANCE").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == lines, "{} is out of date", path.display());
}

/// Reads a case from the file, independently of the code that wrote it.
fn read(line: &Value) -> (Slicing, String) {
    let ints = |name: &str| -> Option<Vec<i64>> {
        Some(line.get(name)?.as_array()?.iter().map(|v| v.as_i64().unwrap()).collect())
    };
    let strided = line["op"] == "StridedSlice-1";
    let names = if strided { ["begin", "end", "stride"] } else { ["start", "stop", "step"] };
    let mask = |name: &str| ints(name).unwrap().into_iter().map(|bit| bit as u8).collect();
    let slicing = Slicing {
        masks: strided.then(|| MASKS.map(mask)),
        start: ints(names[0]).unwrap(),
        stop: ints(names[1]).unwrap(),
        step: ints(names[2]),
        axes: ints("axes"),
    };
    let sizes = line["shape"].as_array().unwrap().iter();
    let sizes: Vec<String> =
        sizes.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_string)).collect();
    (slicing, sizes.join(","))
}

#[test]
fn every_case_of_the_suite_holds() {
    let file = std::fs::read_to_string(files::root().join("conformance/cases/slices.jsonl")).unwrap();
    let mut count = 0;
    for line in file.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (slicing, shape) = read(&line);
        let (id, expect) = (&line["id"], &line["expect"]);
        let index_type = line["index_type"].as_str().unwrap();
        let text = text(&slicing, &shape, ElementType::I32, index_type, [Source::Constant; 4], &[]);
        let graph = load(&text);
        count += 1;
        if expect["refused"] == "infer" {
            assert!(graph.is_err(), "{id}: inference takes it");
            continue;
        }
        let graph = graph.unwrap_or_else(|e| panic!("{id}: {e}"));
        let canonical = canonical(&graph);
        let sizes: Vec<usize> = shape.split(',').filter_map(|size| size.parse().ok()).collect();
        if expect["refused"] == "run" {
            for graph in [&graph, &canonical] {
                assert!(run(graph, &[counting(&sizes)]).is_err(), "{id}: it runs");
            }
            continue;
        }
        let result = graph.results().next().unwrap();
        let inferred = &graph.fact(graph.inputs(result)[0].unwrap()).unwrap().shape;
        let dims = expect["dims"].as_array().unwrap().iter();
        let dims: Vec<String> =
            dims.map(|d| d.as_str().map_or_else(|| d.to_string(), str::to_string)).collect();
        let shown = inferred.display_intervals(graph.symbols()).to_string();
        assert_eq!(shown, format!("[{}]", dims.join(",")), "{id}");
        let Some(indices) = expect.get("indices") else { continue };
        for graph in [&graph, &canonical] {
            let out = run(graph, &[counting(&sizes)]).unwrap_or_else(|e| panic!("{id}: {e}"));
            assert_eq!(json!(out.to_i64_vec().unwrap()), *indices, "{id}");
        }
    }
    assert!(count > 300, "{count} cases");
}
