//! Planted wrong rules are refused, with a size that shows the fault, and are never proved. The same rules
//! without the fault are proved.

use std::collections::HashMap;

use snick_ir::ops::source::parameter::Parameter;
use snick_ir::rewrite::{self, DriverOptions, Patch, RewriteResult, Rule, Trace};
use snick_ir::{Graph, Op, OpError, Value, infer, text};

use crate::Checker;
use crate::prove::{CertifiedRewrite, Prover, RewriteStatus};

/// A rule that replaces the layer `r`.
struct Planted {
    /// The kind of the fault.
    fault: &'static str,
    /// The shapes of the inputs `x` and `y`.
    shapes: [&'static str; 2],
    /// The layers before.
    before: &'static str,
    /// The layers after, where `$` is `right` or `wrong`.
    after: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// Whether the fault shows with these sizes of axis 0 of `x` and `y`.
    shows: fn(i64, i64) -> bool,
}

/// The constants `%c0`, `%c1`, … that layers may read.
const CONSTANTS: [i64; 17] = [0, 1, 2, 3, 5, 6, 7, 8, 98, 99, 100, 510, 511, 999, 1000, -1, -2];

const ANY: &str = "N";

const PLANTED: [Planted; 22] = [
    Planted {
        fault: "start of a slice of a slice",
        shapes: ["10..20", ANY],
        before: "%a = slice(%x) {axes: [0], start: [2], len: [6], step: [1]}
                 %r = slice(%a) {axes: [0], start: [1], len: [4], step: [1]}",
        after: "%r = slice(%x) {axes: [0], start: [$], len: [4], step: [1]}",
        right: "3",
        wrong: "4",
        shows: |_, _| true,
    },
    Planted {
        fault: "start of a slice of a strided slice",
        shapes: ["12..20", ANY],
        before: "%a = Slice-8(%x, %c0, %end, %c3)
                 %r = slice(%a) {axes: [0], start: [1], len: [2], step: [1]}",
        after: "%r = slice(%x) {axes: [0], start: [$], len: [2], step: [3]}",
        right: "3",
        wrong: "2",
        shows: |_, _| true,
    },
    Planted {
        fault: "length of a slice of a slice",
        shapes: [ANY, ANY],
        before: "%a = Slice-8(%x, %c2, %c100, %c1)\n%r = Slice-8(%a, %c0, %c-1, %c1)",
        after: "%b = Slice-8(%x, %c2, %c100, %c1)\n%r = Slice-8(%b, %c0, %c-$, %c1)",
        right: "1",
        wrong: "2",
        shows: |n, _| n >= 4,
    },
    Planted {
        fault: "step of a slice of a slice",
        shapes: ["40..", ANY],
        before: "%a = slice(%x) {axes: [0], start: [0], len: [10], step: [2]}
                 %r = slice(%a) {axes: [0], start: [0], len: [3], step: [3]}",
        after: "%r = slice(%x) {axes: [0], start: [0], len: [3], step: [$]}",
        right: "6",
        wrong: "5",
        shows: |_, _| true,
    },
    Planted {
        fault: "axis of a reversal before a transpose",
        shapes: ["N,N", ANY],
        before: "%t = Transpose-1(%x, %swap)\n%r = Slice-8(%t, %c-1, %begin, %c-1, %c0)",
        after: "%b = Slice-8(%x, %c-1, %begin, %c-1, %c$)\n%r = Transpose-1(%b, %swap)",
        right: "1",
        wrong: "0",
        shows: |n, _| n >= 2,
    },
    Planted {
        fault: "order of the parts of a concatenation",
        shapes: [ANY, "M"],
        before: "%a = ReLU-1(%x)\n%b = ReLU-1(%y)\n%r = Concat-1(%a, %b) {axis: 0}",
        after: "%a = Concat-1($) {axis: 0}\n%r = ReLU-1(%a)",
        right: "%x, %y",
        wrong: "%y, %x",
        shows: |n, m| n >= 1 && m >= 1,
    },
    Planted {
        fault: "order of the parts of a reversed concatenation",
        shapes: [ANY, "M"],
        before: "%a = Concat-1(%x, %y) {axis: 0}\n%r = Slice-8(%a, %c-1, %begin, %c-1)",
        after: "%a = Slice-8(%x, %c-1, %begin, %c-1)
                %b = Slice-8(%y, %c-1, %begin, %c-1)
                %r = Concat-1($) {axis: 0}",
        right: "%b, %a",
        wrong: "%a, %b",
        shows: |n, m| n >= 1 && m >= 1,
    },
    Planted {
        fault: "order of two permutations",
        shapes: ["N,N,N", ANY],
        before: "%a = Transpose-1(%x, %p120)\n%r = Transpose-1(%a, %p021)",
        after: "%r = Transpose-1(%x, %$)",
        right: "p102",
        wrong: "p210",
        shows: |n, _| n >= 2,
    },
    Planted {
        fault: "order of axes of a reshape",
        shapes: ["N,2,3", ANY],
        before: "%a = Reshape-1(%x, %to6) {special_zero: true}
                 %r = Reshape-1(%a, %to32) {special_zero: true}",
        after: "%r = $",
        right: "Reshape-1(%x, %to32) {special_zero: true}",
        wrong: "Transpose-1(%x, %p021)",
        shows: |n, _| n >= 1,
    },
    Planted {
        fault: "axis of repetitions",
        shapes: ["1..", ANY],
        before: "%r = Tile-1(%x, %c2)",
        after: "%a = Unsqueeze-1(%x, %c$)
                %b = Concat-1(%a, %a) {axis: $}
                %r = Reshape-1(%b, %c-1) {special_zero: false}",
        right: "0",
        wrong: "1",
        shows: |n, _| n >= 2,
    },
    Planted {
        fault: "side of the padding",
        shapes: ["1..", ANY],
        before: "%a = Pad-1(%x, %c1, %c2, %nil) {pad_mode: constant}\n%r = Slice-8(%a, %c2, %c-1, %c1)",
        after: "%a = Slice-8(%x, %c1, %end, %c1)\n%r = Pad-1(%a, $, %nil) {pad_mode: constant}",
        right: "%c0, %c1",
        wrong: "%c1, %c0",
        shows: |n, _| n >= 2,
    },
    Planted {
        fault: "last element",
        shapes: [ANY, ANY],
        before: "%r = Gather-8(%x, %c-1, %axis) {batch_dims: 0}",
        after: "%i = Subtract-1(%s, %c$)\n%r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "1",
        wrong: "2",
        shows: |n, _| n >= 2,
    },
    Planted {
        fault: "at the upper bound",
        shapes: ["1..512", ANY],
        before: "%r = Gather-8(%x, %c-1, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c1)
                %i = Minimum-1(%a, %c$)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "511",
        wrong: "510",
        shows: |n, _| n == 512,
    },
    Planted {
        fault: "one below the upper bound",
        shapes: ["1..512", ANY],
        before: "%r = Gather-8(%x, %c-1, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c1)
                %e = Equal-1(%s, %c511)
                %o = Convert-1(%e) {destination_type: i64}
                %d = Multiply-1(%o, %c$)
                %i = Subtract-1(%a, %d)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "0",
        wrong: "1",
        shows: |n, _| n == 511,
    },
    Planted {
        fault: "at the lower bound",
        shapes: ["3..", ANY],
        before: "%i = Subtract-1(%s, %c3)\n%r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c3)
                %i = Maximum-1(%a, %c$)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "0",
        wrong: "1",
        shows: |n, _| n == 3,
    },
    Planted {
        fault: "at odd sizes",
        shapes: ["1..", ANY],
        before: "%i = Divide-1(%s, %c2)\n%r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        after: "%a = Add-1(%s, %c1)
                %h = Divide-1(%a, %c2)
                %d = Subtract-1(%s, %h)
                %i = Maximum-1(%$, %$)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "d",
        wrong: "h",
        shows: |n, _| n % 2 == 1,
    },
    Planted {
        fault: "at multiples of 8",
        shapes: ["1..", ANY],
        before: "%a = Subtract-1(%s, %c1)
                 %i = Divide-1(%a, %c8)
                 %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        after: "%a = Add-1(%s, %c$)
                %h = Divide-1(%a, %c8)
                %i = Subtract-1(%h, %c1)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "7",
        wrong: "8",
        shows: |n, _| n % 8 == 0,
    },
    Planted {
        fault: "at 7",
        shapes: ["1..", ANY],
        before: "%r = Gather-8(%x, %c-1, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c1)
                %e = Equal-1(%s, %c7)
                %o = Convert-1(%e) {destination_type: i64}
                %d = Multiply-1(%o, %c$)
                %i = Subtract-1(%a, %d)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "0",
        wrong: "1",
        shows: |n, _| n == 7,
    },
    Planted {
        fault: "at the length of a slice",
        shapes: ["1..", ANY],
        before: "%a = Slice-8(%x, %c0, %c1000, %c1)\n%r = Gather-8(%a, %c-1, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c1)
                %b = Minimum-1(%a, %c999)
                %e = Equal-1(%s, %c1000)
                %o = Convert-1(%e) {destination_type: i64}
                %d = Multiply-1(%o, %c$)
                %i = Subtract-1(%b, %d)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "0",
        wrong: "1",
        shows: |n, _| n == 1000,
    },
    Planted {
        fault: "from the length of a slice on",
        shapes: ["1..", ANY],
        before: "%a = Slice-8(%x, %c0, %c100, %c1)\n%r = Gather-8(%a, %c-1, %axis) {batch_dims: 0}",
        after: "%a = Subtract-1(%s, %c1)
                %i = Minimum-1(%a, %c$)
                %r = Gather-8(%x, %i, %axis) {batch_dims: 0}",
        right: "99",
        wrong: "98",
        shows: |n, _| n >= 100,
    },
    Planted {
        fault: "at equal sizes",
        shapes: ["1..", "M"],
        before: "%u = ShapeOf-3(%y) {output_type: i64}
                 %a = Minimum-1(%s, %u)
                 %b = Concat-1(%x, %y) {axis: 0}
                 %r = Gather-8(%b, %a, %axis) {batch_dims: 0}",
        after: "%u = ShapeOf-3(%y) {output_type: i64}
                %a = Minimum-1(%u, %s)
                %e = Equal-1(%s, %u)
                %o = Convert-1(%e) {destination_type: i64}
                %d = Multiply-1(%o, %c$)
                %i = Subtract-1(%a, %d)
                %b = Concat-1(%x, %y) {axis: 0}
                %r = Gather-8(%b, %i, %axis) {batch_dims: 0}",
        right: "0",
        wrong: "1",
        shows: |n, m| n == m,
    },
    Planted {
        fault: "where a part of a concatenation ends",
        shapes: ["1..", "8"],
        before: "%a = Concat-1(%x, %y) {axis: 0}\n%r = Gather-8(%a, %c7, %axis) {batch_dims: 0}",
        after: "%b = Slice-8(%x, %c0, %c$, %c1)
                %a = Concat-1(%b, %y) {axis: 0}
                %r = Gather-8(%a, %c7, %axis) {batch_dims: 0}",
        right: "8",
        wrong: "7",
        shows: |n, _| n >= 8,
    },
];

fn parse(shapes: [&str; 2], layers: &str) -> Graph {
    let [x, y] = shapes;
    let constant = |number: i64| format!("%c{number} = Const-1 i64[1] <{number}>");
    let constants: Vec<String> = CONSTANTS.into_iter().map(constant).collect();
    let text = format!(
        "snick 1\ngraph \"g\" {{
         %x = Parameter-1 {{element_type: f32, shape: \"{x}\"}}
         %y = Parameter-1 {{element_type: f32, shape: \"{y}\"}}
         %s = ShapeOf-3(%x) {{output_type: i64}}
         {}
         %end = Const-1 i64[1] <{}>
         %begin = Const-1 i64[1] <{}>
         %axis = Const-1 i64[] <0>
         %nil = Const-1 f32[] <0>
         %swap = Const-1 i64[2] <1, 0>
         %p120 = Const-1 i64[3] <1, 2, 0>
         %p021 = Const-1 i64[3] <0, 2, 1>
         %p102 = Const-1 i64[3] <1, 0, 2>
         %p210 = Const-1 i64[3] <2, 1, 0>
         %to6 = Const-1 i64[2] <0, 6>
         %to32 = Const-1 i64[3] <0, 3, 2>
         {layers}
         %z = Result-1(%r)
         }}",
        constants.join("\n"),
        i64::MAX,
        i64::MIN
    );
    let mut graph = text::parse(&text, None).unwrap();
    assert_eq!(infer(&mut graph), []);
    graph.remove_dead_nodes();
    graph
}

impl Planted {
    fn rule(&self, is_right: bool) -> Rule {
        let choice = if is_right { self.right } else { self.wrong };
        let after = parse(self.shapes, &self.after.replace('$', choice));
        Rule::new("planted", move |patch| match patch.node().name() {
            "r" => replace(patch, &after),
            _ => Ok(RewriteResult::NoMatch),
        })
    }

    /// What is established about the rule, and the report if it is refused.
    fn certify(&self, is_right: bool) -> Result<(CertifiedRewrite, Option<String>), Trace> {
        let mut graph = parse(self.shapes, self.before);
        let mut checker = Checker::with_prover(1, Prover::default(), false);
        let options =
            DriverOptions { stop_after: Some(1), check: Some(&mut checker), ..DriverOptions::default() };
        let trace = rewrite::apply(&mut graph, &[self.rule(is_right)], options);
        let rewrite = checker.into_prover().and_then(|prover| prover.rewrites.into_iter().next());
        match rewrite {
            Some(rewrite) => {
                Ok((rewrite, trace.check_failures.into_iter().next().map(|failure| failure.report)))
            }
            None => Err(trace),
        }
    }

    /// Whether the rule is refused with sizes that show the fault.
    fn check_wrong(&self) -> Result<(), String> {
        let (rewrite, report) = self.certify(false).map_err(|trace| format!("{trace:?}"))?;
        let Some(report) = report.filter(|_| rewrite.status == RewriteStatus::Refuted) else {
            return Err(format!("{rewrite:?}"));
        };
        let (x, y) = sizes(&report);
        if (self.shows)(x, y) { Ok(()) } else { Err(report) }
    }

    /// Whether the rule without the fault is proved.
    fn check_right(&self) -> Result<(), String> {
        let (rewrite, report) = self.certify(true).map_err(|trace| format!("{trace:?}"))?;
        let is_proved = rewrite.status == RewriteStatus::Proved && report.is_none();
        if is_proved { Ok(()) } else { Err(format!("{rewrite:?}")) }
    }
}

/// Replaces a layer with the layers of another graph of the same inputs.
fn replace(patch: &mut Patch, after: &Graph) -> Result<RewriteResult, OpError> {
    let mut values = HashMap::new();
    for id in after.order().unwrap() {
        let node = after.node(id);
        let inputs: Vec<Value> = node.inputs().map(|input| values[&input]).collect();
        let value = match node.op() {
            Op::Parameter(_) => {
                let node = patch.graph().find(node.name());
                node.map(|node| Value { node, port: 0 }).ok_or(OpError::NotConnected { port: 0 })?
            }
            Op::Result(_) => return Ok(RewriteResult::one(inputs[0])),
            op => patch.add_op(op.clone(), &inputs)?,
        };
        values.insert(Value { node: id, port: 0 }, value);
    }
    Ok(RewriteResult::NoMatch)
}

/// The sizes of axis 0 of `x` and `y` in the test that a report contains; 0 for an input that is not read.
fn sizes(report: &str) -> (i64, i64) {
    let test = &report[report.find("snick 1").unwrap()..];
    let graph = text::parse(test, None).unwrap();
    let size = |name| match graph.find(name).map(|id| graph.node(id).op()) {
        Some(Op::Parameter(Parameter { shape, .. })) => {
            let dims = shape.to_string();
            dims.split(',').next().unwrap().parse().unwrap()
        }
        _ => 0,
    };
    (size("x"), size("y"))
}

fn check_all(check: fn(&Planted) -> Result<(), String>) {
    let failures = PLANTED.iter().filter_map(|planted| Some((planted.fault, check(planted).err()?)));
    let failures: Vec<String> = failures.map(|(fault, why)| format!("{fault}: {why}")).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn wrong_rules_are_refused_with_sizes_that_show_the_fault() {
    check_all(Planted::check_wrong);
}

#[test]
fn the_same_rules_without_the_fault_are_proved() {
    check_all(Planted::check_right);
}
