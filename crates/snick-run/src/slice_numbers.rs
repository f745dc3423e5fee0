//! Slices whose ranges only the run knows: their numbers are computed without a tensor for each.
//!
//! Sizes of axes, elements of index lists, what clamps them and the arithmetic between are layers of a graph, but a few
//! machine instructions of a run. A slice reads the lists and does the rest itself; steps that nobody else reads are
//! left out.

use std::collections::HashMap;

use smallvec::SmallVec;
use snick_ir::ops::slice::bounds::{Bound, Bounds};
use snick_ir::ops::slice::primitive::Slice;
use snick_ir::{Fact, Graph, Op, OpError};
use snick_shape::AxisSlice;
use snick_tensor::kernels::{BinaryOp, CompareOp};
use snick_tensor::{ElementType, Tensor};

use crate::plan::{Operand, Plan, Step};

/// Terms nested deeper than this are read as they come out of their layer.
const DEEPEST: usize = 64;

/// The numbers that a slice reads, as terms over what its step reads.
pub(crate) struct SliceNumbers {
    terms: Terms,
    /// The terms that are the operands of the slice.
    operands: SmallVec<[TermId; 6]>,
}

/// A term of a [`Terms`], which alone makes these.
#[derive(Copy, Clone)]
struct TermId(usize);

/// Terms in an order in which each comes after those that it refers to.
#[derive(Default)]
struct Terms(Vec<Term>);

/// An i64 over other ones.
enum Term {
    Fixed(i64),
    /// An element of what the step reads at a port, which is a scalar or a vector.
    Element {
        port: usize,
        at: usize,
    },
    /// The size of an axis of the data.
    Size {
        axis: usize,
    },
    Arithmetic(fn(i64, i64) -> i64, TermId, TermId),
    /// `then` if `low < high`.
    IfLess {
        low: TermId,
        high: TermId,
        then: TermId,
        other: TermId,
    },
    /// What `bounds` gives at its output `port`.
    Clamped {
        size: TermId,
        start: Option<TermId>,
        stop: Option<TermId>,
        step: TermId,
        port: usize,
    },
}

impl Terms {
    fn push(&mut self, term: Term) -> TermId {
        self.0.push(term);
        TermId(self.0.len() - 1)
    }

    /// The value of each term, in this order, where a step reads `data` and `inputs`, of which the data is the first.
    fn values(&self, data: &Tensor, inputs: &[Tensor]) -> Result<SmallVec<[i64; 24]>, OpError> {
        let mut values: SmallVec<[i64; 24]> = SmallVec::with_capacity(self.0.len());
        for term in &self.0 {
            let of = |term: TermId| values[term.0];
            let value = match *term {
                Term::Fixed(number) => number,
                Term::Element { port, at } => {
                    inputs.get(port).ok_or(OpError::NotConnected { port })?.to_i64(at)?
                }
                Term::Size { axis } => {
                    let size = data.dims().get(axis).copied();
                    let size = size.ok_or_else(|| OpError::rank("the data", data.rank(), "more"))?;
                    i64::try_from(size).unwrap_or(i64::MAX)
                }
                Term::Arithmetic(function, a, b) => function(of(a), of(b)),
                Term::IfLess { low, high, then, other } => of(if of(low) < of(high) { then } else { other }),
                Term::Clamped { size, start, stop, step, port } => {
                    let (first, len) = AxisSlice::clamp(of(size), start.map(of), stop.map(of), of(step))?;
                    if port == 0 { first } else { len }
                }
            };
            values.push(value);
        }
        Ok(values)
    }
}

impl SliceNumbers {
    /// What the slice selects of the data, the first of `inputs`.
    pub(crate) fn select(&self, slice: &Slice, inputs: &[Tensor]) -> Result<Tensor, OpError> {
        let data = inputs.first().ok_or(OpError::NotConnected { port: 0 })?;
        let values = self.terms.values(data, inputs)?;
        let operands: SmallVec<[i64; 6]> = self.operands.iter().map(|term| values[term.0]).collect();
        slice.select(data, &operands)
    }
}

/// A function of two i64 as an Arithmetic op of i64 has it, which wraps; `None` if ranges are not computed with it.
fn wrapping(function: BinaryOp) -> Option<fn(i64, i64) -> i64> {
    match function {
        BinaryOp::Add => Some(i64::wrapping_add),
        BinaryOp::Sub => Some(i64::wrapping_sub),
        BinaryOp::Mul => Some(i64::wrapping_mul),
        BinaryOp::Max => Some(i64::max),
        BinaryOp::Min => Some(i64::min),
        _ => None,
    }
}

/// Lets slices compute the numbers of their ranges, and leaves out what nobody reads then.
pub(crate) fn move_into_slices(plan: &mut Plan, graph: &Graph) {
    let is_open = |step: &Step| {
        let of_run = |operand: &Operand| matches!(operand, Operand::Slot { .. });
        matches!(graph.node(step.node).op, Op::Slice(_)) && step.operands.iter().skip(1).any(of_run)
    };
    let open: Vec<usize> = (0..plan.steps.len()).filter(|&i| is_open(&plan.steps[i])).collect();
    if open.is_empty() {
        return;
    }
    let mut maker = vec![None; plan.slots];
    for (i, step) in plan.steps.iter().enumerate() {
        maker[step.first..step.first + step.outs].fill(Some(i));
    }
    let mut is_done_inside = vec![false; plan.steps.len()];
    for i in open {
        let mut search = Search {
            plan,
            graph,
            maker: &maker,
            ports: plan.steps[i].operands[..1].to_vec(),
            terms: Terms::default(),
            known: HashMap::new(),
            inside: Vec::new(),
        };
        let operands = plan.steps[i].operands[1..].iter();
        let operands: Option<SmallVec<[TermId; 6]>> =
            operands.map(|&operand| search.term(operand, 0)).collect();
        let Search { ports, terms, inside, .. } = search;
        let Some(operands) = operands.filter(|_| !inside.is_empty()) else { continue };
        inside.into_iter().for_each(|step| is_done_inside[step] = true);
        let step = &mut plan.steps[i];
        step.operands = ports.into();
        step.numbers = Some(Box::new(SliceNumbers { terms, operands }));
    }
    leave_out(plan, &is_done_inside);
}

/// Leaves out the steps of `is_spare` that nobody reads.
fn leave_out(plan: &mut Plan, is_spare: &[bool]) {
    let mut is_read = vec![false; plan.slots];
    let mut stays = vec![true; plan.steps.len()];
    for (i, step) in plan.steps.iter().enumerate().rev() {
        if is_spare[i] && !is_read[step.first..step.first + step.outs].contains(&true) {
            stays[i] = false;
            continue;
        }
        for operand in &step.operands {
            if let Operand::Slot { slot, .. } = operand {
                is_read[*slot] = true;
            }
        }
    }
    let mut stays = stays.into_iter();
    plan.steps.retain(|_| stays.next().unwrap_or(true));
}

/// The terms of one slice under construction.
struct Search<'p> {
    plan: &'p Plan,
    graph: &'p Graph,
    /// By slot, the step that fills it.
    maker: &'p [Option<usize>],
    /// What the step will read; the data first.
    ports: Vec<Operand>,
    terms: Terms,
    /// Terms by the slot they stand for.
    known: HashMap<usize, TermId>,
    /// Steps whose work terms do.
    inside: Vec<usize>,
}

impl<'p> Search<'p> {
    /// The term for a scalar operand.
    fn term(&mut self, operand: Operand, depth: usize) -> Option<TermId> {
        let term = match operand {
            Operand::Missing => return None,
            Operand::Constant(_) => Term::Fixed(self.number(operand)?),
            Operand::Slot { slot, .. } => {
                if let Some(&term) = self.known.get(&slot) {
                    return Some(term);
                }
                let computed = if depth < DEEPEST { self.computed(slot, depth + 1) } else { None };
                computed.unwrap_or_else(|| Term::Element { port: self.port(operand), at: 0 })
            }
        };
        let term = self.terms.push(term);
        if let Operand::Slot { slot, .. } = operand {
            self.known.insert(slot, term);
        }
        Some(term)
    }

    /// The port at which the step reads a value.
    fn port(&mut self, operand: Operand) -> usize {
        let is_same = |other: &Operand| match (operand, other) {
            (Operand::Slot { slot: a, .. }, Operand::Slot { slot: b, .. }) => a == *b,
            (Operand::Constant(a), Operand::Constant(b)) => a == *b,
            _ => false,
        };
        self.ports.iter().position(is_same).unwrap_or_else(|| {
            self.ports.push(operand);
            self.ports.len() - 1
        })
    }

    /// The step that fills a slot, with its op, if that does what its layer says.
    fn made(&self, slot: usize) -> Option<(usize, &'p Step, &'p Op)> {
        let number = (*self.maker.get(slot)?)?;
        let step = self.plan.steps.get(number).filter(|step| step.op.is_none())?;
        Some((number, step, &self.graph.node(step.node).op))
    }

    fn fact(&self, operand: Operand) -> Option<&'p Fact> {
        let Operand::Slot { slot, .. } = operand else { return None };
        let step = self.plan.steps.get((*self.maker.get(slot)?)?)?;
        Some(&self.graph.node(step.node).outs.get(slot - step.first)?.fact)
    }

    /// A constant integer scalar.
    fn number(&self, operand: Operand) -> Option<i64> {
        let Operand::Constant(number) = operand else { return None };
        let constant = self.plan.constants.get(number)?;
        let is_integer = constant.rank() == 0 && constant.element_type().is_integer();
        constant.to_i64(0).ok().filter(|_| is_integer)
    }

    /// Whether a value is an i64 scalar: other types wrap elsewhere.
    fn is_index(&self, operand: Operand) -> bool {
        match self.fact(operand) {
            Some(fact) => {
                fact.element_type == ElementType::I64 && fact.shape.dims().is_some_and(<[_]>::is_empty)
            }
            None => self.number(operand).is_some(),
        }
    }

    /// What fills a slot, as a term, if that is simple enough.
    fn computed(&mut self, slot: usize, depth: usize) -> Option<Term> {
        let (number, step, op) = self.made(slot)?;
        if !self.is_index(Operand::Slot { slot, last: false }) {
            return None;
        }
        let term = match (op, &*step.operands) {
            (Op::Bounds(bounds), operands) => self.clamped(*bounds, operands, slot - step.first, depth)?,
            (Op::Gather(gather), &[list, at, axis])
                if gather.since > 1 && gather.batch_dims == 0 && self.number(axis) == Some(0) =>
            {
                let at = usize::try_from(self.number(at)?).ok()?;
                self.element(list, at)?
            }
            (Op::Arithmetic(op), &[a, b]) => {
                let function = wrapping(op.function)?;
                let (a, b) = (self.index(a, depth)?, self.index(b, depth)?);
                Term::Arithmetic(function, a, b)
            }
            (Op::Select(_), &[Operand::Slot { slot: condition, .. }, then, other]) => {
                let (less, Step { operands, .. }, Op::Compare(compare)) = self.made(condition)? else {
                    return None;
                };
                let (CompareOp::Less, &[low, high]) = (compare.function, &**operands) else { return None };
                let (low, high) = (self.index(low, depth)?, self.index(high, depth)?);
                let (then, other) = (self.index(then, depth)?, self.index(other, depth)?);
                self.inside.push(less);
                Term::IfLess { low, high, then, other }
            }
            _ => return None,
        };
        self.inside.push(number);
        Some(term)
    }

    /// The term for what must be an i64 scalar.
    fn index(&mut self, operand: Operand, depth: usize) -> Option<TermId> {
        self.is_index(operand).then(|| self.term(operand, depth))?
    }

    /// An element of a list of i64.
    fn element(&mut self, list: Operand, at: usize) -> Option<Term> {
        let Operand::Slot { slot, .. } = list else { return None };
        if self.fact(list)?.shape.dims()?.len() != 1 {
            return None;
        }
        let made = self.made(slot).map(|(number, step, op)| (number, op, step.operands.first().copied()));
        match made {
            // Sizes of other values would keep those in memory.
            Some((number, Op::ShapeOf(_), Some(Operand::Slot { slot: of, .. }))) if self.is_data(of) => {
                self.inside.push(number);
                Some(Term::Size { axis: at })
            }
            Some((number, Op::Convert(_), Some(narrow @ Operand::Slot { .. })))
                if matches!(self.fact(narrow)?.element_type, ElementType::I32 | ElementType::U8) =>
            {
                self.inside.push(number);
                Some(Term::Element { port: self.port(narrow), at })
            }
            _ => Some(Term::Element { port: self.port(list), at }),
        }
    }

    fn is_data(&self, slot: usize) -> bool {
        matches!(self.ports.first(), Some(Operand::Slot { slot: data, .. }) if *data == slot)
    }

    fn clamped(&mut self, bounds: Bounds, operands: &[Operand], port: usize, depth: usize) -> Option<Term> {
        let pairs = bounds.pair(operands).ok()?;
        let mut fields = [None; 4];
        for (field, pair) in fields.iter_mut().zip(pairs) {
            *field = match pair {
                (Bound::Static(number), _) => Some(self.terms.push(Term::Fixed(number))),
                (Bound::Operand, operand) => Some(self.term(operand?, depth)?),
                (Bound::Open, _) => None,
            };
        }
        let [size, start, stop, step] = fields;
        Some(Term::Clamped { size: size?, start, stop, step: step?, port })
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::*;
    use crate::{Options, Session};

    const OPEN: &str = "snick 1\ngraph \"open\" {\n  %x = Parameter-1 {element_type: f32, shape: \"?,2\"}\n  \
                        %list = Parameter-1 {element_type: i32, shape: \"2\"}\n  \
                        %0 = Const-1 i64[] <0>\n  %1 = Const-1 i64[] <1>\n  \
                        %shape = ShapeOf-3(%x) {output_type: i64}\n  \
                        %size = Gather-8(%shape, %0, %0) {batch_dims: 0}\n  \
                        %wide = Convert-1(%list) {destination_type: i64}\n  \
                        %from = Gather-8(%wide, %0, %0) {batch_dims: 0}\n  \
                        %to = Gather-8(%wide, %1, %0) {batch_dims: 0}\n  \
                        %range = bounds(%size, %from, %to) {size: in, start: in, stop: in, step: 2}\n  \
                        %part = slice(%x, %range, %range:1) {axes: [0], start: [\"in ?\"], len: [\"in ?\"], step: [2]}\n  \
                        %low = Minimum-1(%from, %0) {auto_broadcast: numpy}\n  \
                        %back = Add-1(%low, %size) {auto_broadcast: numpy}\n  \
                        %is_low = Less-1(%from, %0) {auto_broadcast: numpy}\n  \
                        %at = Select-1(%is_low, %back, %from) {auto_broadcast: numpy}\n  \
                        %row = slice(%x, %at) {axes: [0], start: [\"in ?\"], len: [1], step: [1]}\n  \
                        %y = Result-1(%part)\n  %z = Result-1(%row)\n";

    fn steps_and_results(more: &str, list: [i32; 2]) -> [(usize, Result<Vec<Tensor>, String>); 2] {
        let mut graph = text::parse(&format!("{OPEN}{more}}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let x = Tensor::from_vec(&[5, 2], (0..10).map(|x| x as f32).collect()).unwrap();
        let list = Tensor::from_vec(&[2], list.to_vec()).unwrap();
        [Session::without_folding(&graph).unwrap(), Session::new(&graph).unwrap()].map(|session| {
            let outputs = session.run(&[x.clone(), list.clone()], Options::default()).complete();
            (session.plan.steps.len(), outputs.map_err(|error| error.to_string()))
        })
    }

    #[test]
    fn slices_compute_their_own_numbers() {
        for list in [[1, 5], [-3, 9], [4, 1], [0, -1], [-5, i32::MAX]] {
            let [(_, expected), (steps, found)] = steps_and_results("", list);
            // Parameters, slices and Results are left.
            assert_eq!((steps, expected.is_ok()), (6, true), "{expected:?}");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_others_read_is_still_computed() {
        let [(_, expected), (steps, found)] = steps_and_results("  %w = Result-1(%range:1)\n", [1, 5]);
        assert_eq!((steps, &found), (13, &expected));
        assert_eq!(found.unwrap()[2].to_i64_vec().unwrap(), [2]);
    }

    #[test]
    fn an_index_outside_is_an_error() {
        for (_, outputs) in steps_and_results("", [-6, 5]) {
            assert!(outputs.unwrap_err().contains("`row`"));
        }
    }
}
