//! Lets dynamic slices compute their own start, length and step.
//!
//! A model computes the operands of a dynamic slice in separate layers, which read axis sizes and list
//! elements, clamp them and do arithmetic on them. Each of these layers takes only a few machine
//! instructions, which is too little for a step of its own. Therefore the slice reads the original lists and
//! does the arithmetic itself. Steps that have no other readers are removed.

use std::collections::HashMap;

use snick_ir::ops::slice::bounds::Bounds;
use snick_ir::{Fact, Graph, IntOrValue, Op};
use snick_tensor::kernels::{BinaryOp, CompareOp};
use snick_tensor::{ElementType, SmallVector};

use crate::plan::{Operand, Plan, Step, StepKind};
use crate::slice_numbers::{SliceNumbers, Term, TermId, Terms};

/// Maximum nesting depth of terms. A term at this depth reads the output of a layer instead of computing it.
const DEEPEST: usize = 64;

/// The wrapping i64 function of an Arithmetic op; `None` for functions that slice operands do not use.
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

/// Lets slices compute their own start, length and step, and removes the steps that become unused.
pub(super) fn compute_slice_numbers(plan: &mut Plan, graph: &Graph) {
    let is_dynamic = |step: &Step| {
        let is_slice = matches!((&step.kind, graph.node(step.node).op()), (StepKind::Op, Op::Slice(_)));
        is_slice && step.operands.iter().skip(1).any(|operand| operand.slot().is_some())
    };
    let dynamic: Vec<usize> = (0..plan.steps.len()).filter(|&i| is_dynamic(&plan.steps[i])).collect();
    if dynamic.is_empty() {
        return;
    }
    let mut producer = vec![None; plan.slots];
    for (i, step) in plan.steps.iter().enumerate() {
        producer[step.first..step.first + step.outs].fill(Some(i));
    }
    let mut is_absorbed = vec![false; plan.steps.len()];
    for i in dynamic {
        let mut search = Search {
            plan,
            graph,
            producers: &producer,
            ports: plan.steps[i].operands[..1].to_vec(),
            terms: Terms::default(),
            known: HashMap::new(),
            absorbed: Vec::new(),
        };
        let operands = plan.steps[i].operands[1..].iter();
        let operands: Option<SmallVector<TermId, 6>> =
            operands.map(|&operand| search.term(operand, 0)).collect();
        let Search { ports, terms, absorbed, .. } = search;
        let Some(operands) = operands.filter(|_| !absorbed.is_empty()) else { continue };
        absorbed.into_iter().for_each(|step| is_absorbed[step] = true);
        let step = &mut plan.steps[i];
        step.operands = ports.into();
        step.kind = StepKind::Slice(Box::new(SliceNumbers { terms, operands }));
    }
    remove_unread(plan, &is_absorbed);
}

/// Removes the unused steps among those that are set in `is_absorbed`.
fn remove_unread(plan: &mut Plan, is_absorbed: &[bool]) {
    let mut is_read = vec![false; plan.slots];
    let mut is_kept = vec![true; plan.steps.len()];
    for (i, step) in plan.steps.iter().enumerate().rev() {
        if is_absorbed[i] && !is_read[step.first..step.first + step.outs].contains(&true) {
            is_kept[i] = false;
            continue;
        }
        for operand in &step.operands {
            if let Some(slot) = operand.slot() {
                is_read[slot] = true;
            }
        }
    }
    let mut is_kept = is_kept.into_iter();
    plan.steps.retain(|_| is_kept.next().unwrap_or(true));
}

/// The search for the terms of a slice.
struct Search<'p> {
    plan: &'p Plan,
    graph: &'p Graph,
    /// For each slot, the index of the step that computes it.
    producers: &'p [Option<usize>],
    /// The inputs of the step, starting with the data.
    ports: Vec<Operand>,
    terms: Terms,
    /// The term that replaces each slot.
    known: HashMap<usize, TermId>,
    /// The steps whose outputs the terms compute instead.
    absorbed: Vec<usize>,
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

    /// The input port at which the slice reads a value. Adds the port if necessary.
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

    /// The step that computes a slot, with its index and its op.
    fn producer(&self, slot: usize) -> Option<(usize, &'p Step, &'p Op)> {
        let number = (*self.producers.get(slot)?)?;
        let step = self.plan.steps.get(number).filter(|step| matches!(step.kind, StepKind::Op))?;
        Some((number, step, self.graph.node(step.node).op()))
    }

    fn fact(&self, operand: Operand) -> Option<&'p Fact> {
        let Operand::Slot { slot, .. } = operand else { return None };
        let step = self.plan.steps.get((*self.producers.get(slot)?)?)?;
        Some(&self.graph.node(step.node).outs().get(slot - step.first)?.fact)
    }

    /// The value of a constant integer scalar.
    fn number(&self, operand: Operand) -> Option<i64> {
        let Operand::Constant(number) = operand else { return None };
        let constant = self.plan.constants.get(number)?;
        let is_integer = constant.rank() == 0 && constant.element_type().is_integer();
        constant.to_i64(0).ok().filter(|_| is_integer)
    }

    /// Whether a value is an i64 scalar. Other types are excluded, because their arithmetic wraps at other
    /// limits.
    fn is_index(&self, operand: Operand) -> bool {
        match self.fact(operand) {
            Some(fact) => {
                fact.element_type == ElementType::I64 && fact.shape.dims().is_some_and(<[_]>::is_empty)
            }
            None => self.number(operand).is_some(),
        }
    }

    /// The term for a slot, if the step that computes it is simple enough.
    fn computed(&mut self, slot: usize, depth: usize) -> Option<Term> {
        let (number, step, op) = self.producer(slot)?;
        if !self.is_index(Operand::Slot { slot, last: false }) {
            return None;
        }
        let term = match (op, &*step.operands) {
            (Op::Bounds(bounds), operands) => self.clamped(*bounds, operands, slot - step.first, depth)?,
            (Op::Gather(gather), &[list, at, axis])
                if gather.batch_dims == 0 && self.number(axis) == Some(0) =>
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
                let (less, Step { operands, .. }, Op::Compare(compare)) = self.producer(condition)? else {
                    return None;
                };
                let (CompareOp::Less, &[low, high]) = (compare.function, &**operands) else { return None };
                let (low, high) = (self.index(low, depth)?, self.index(high, depth)?);
                let (then, other) = (self.index(then, depth)?, self.index(other, depth)?);
                self.absorbed.push(less);
                Term::IfLess { low, high, then, other }
            }
            _ => return None,
        };
        self.absorbed.push(number);
        Some(term)
    }

    /// The term for a value, if it is an i64 scalar.
    fn index(&mut self, operand: Operand, depth: usize) -> Option<TermId> {
        self.is_index(operand).then(|| self.term(operand, depth))?
    }

    /// The term for an element of a list of i64.
    fn element(&mut self, list: Operand, at: usize) -> Option<Term> {
        let Operand::Slot { slot, .. } = list else { return None };
        // A Gather returns 0 for an index past the end of the list.
        match self.fact(list)?.shape.dims()? {
            [len] if len.as_const().is_some_and(|len| (at as i128) < i128::from(len)) => {}
            _ => return None,
        }
        let made = self.producer(slot).map(|(number, step, op)| (number, op, step.operands.first().copied()));
        match made {
            // Reading the size of any other value would keep that value in memory.
            Some((number, Op::ShapeOf(_), Some(Operand::Slot { slot: of, .. }))) if self.is_data(of) => {
                self.absorbed.push(number);
                Some(Term::Size { axis: at })
            }
            Some((number, Op::Convert(_), Some(narrow @ Operand::Slot { .. })))
                if matches!(self.fact(narrow)?.element_type, ElementType::I32 | ElementType::U8) =>
            {
                self.absorbed.push(number);
                Some(Term::Element { port: self.port(narrow), at })
            }
            _ => Some(Term::Element { port: self.port(list), at }),
        }
    }

    fn is_data(&self, slot: usize) -> bool {
        matches!(self.ports.first(), Some(Operand::Slot { slot: data, .. }) if *data == slot)
    }

    fn clamped(&mut self, bounds: Bounds, operands: &[Operand], port: usize, depth: usize) -> Option<Term> {
        let mut fields = [None; 4];
        for (field, number) in fields.iter_mut().zip(bounds.bind(operands).ok()?) {
            *field = match number {
                Some(IntOrValue::Int(int)) => Some(self.terms.push(Term::Fixed(int))),
                Some(IntOrValue::Value(operand, _)) => Some(self.term(operand, depth)?),
                None => None,
            };
        }
        let [size, start, stop, step] = fields;
        Some(Term::Clamped { size: size?, start, stop, step: step?, port })
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use snick_tensor::Tensor;

    use crate::{Options, Session};

    const DYNAMIC: &str = "snick 1\ngraph \"dynamic\" {\n  %x = Parameter-1 {element_type: f32, shape: \"?,2\"}\n  \
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
        let mut graph = text::parse(&format!("{DYNAMIC}{more}}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let x = Tensor::from_vec(&[5, 2], (0..10).map(|x| x as f32).collect()).unwrap();
        let list = Tensor::from_vec(&[2], list.to_vec()).unwrap();
        [Session::without_folding(&graph).unwrap(), Session::new(&graph).unwrap()].map(|session| {
            let outputs = session.run(&[x.clone(), list.clone()], Options::default()).complete();
            (session.plan.steps.len(), outputs.map_err(|error| error.to_string()))
        })
    }

    #[test]
    fn slices_compute_their_numbers() {
        for list in [[1, 5], [-3, 9], [4, 1], [0, -1], [-5, i32::MAX]] {
            let [(_, expected), (steps, found)] = steps_and_results("", list);
            // Only Parameters, slices and Results remain.
            assert_eq!((steps, expected.is_ok()), (6, true), "{expected:?}");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn numbers_read_elsewhere_are_still_computed() {
        let [(_, expected), (steps, found)] = steps_and_results("  %w = Result-1(%range:1)\n", [1, 5]);
        assert_eq!((steps, &found), (13, &expected));
        assert_eq!(found.unwrap()[2].to_i64_vec().unwrap(), [2]);
    }

    #[test]
    fn an_index_out_of_range_is_an_error() {
        for (_, outputs) in steps_and_results("", [-6, 5]) {
            assert!(outputs.unwrap_err().contains("`row`"));
        }
    }
}
