//! Slices, and operations that are slices.

use super::Element;
use crate::atoms::Function;
use crate::case::{Case, Step, Stop, needed};
use crate::graph::{Node, Size, Value};
use crate::poly::Poly;

/// Longest list of numbers, one for each axis, that is written out.
const MAX_LENGTH: i64 = 64;

/// A slice of an axis, in numpy's terms. Without a start or stop, it reaches to the end in its direction.
struct Range {
    start: Option<Poly>,
    stop: Option<Poly>,
    step: Poly,
}

/// What happens to an axis of the data, or between two axes.
#[derive(Clone)]
enum Entry {
    /// The axis is kept.
    Whole,
    /// An axis of size 1 is inserted.
    New,
    /// One index is selected, and the axis is dropped.
    Single(Poly),
    /// Element `k` is element `start + k * step`.
    Range { start: Poly, length: Option<Poly>, step: Poly },
}

impl Case<'_> {
    /// The element of the data that an element of a slice is.
    pub(super) fn selected(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Element> {
        let data = needed(node.input(0))?;
        let (mut source, mut index) = (Vec::new(), index.iter());
        for entry in self.entries(node, value, data)? {
            let at = match entry {
                Entry::New => {
                    needed(index.next())?;
                    continue;
                }
                Entry::Whole => {
                    source.push(needed(index.next())?.clone());
                    continue;
                }
                Entry::Single(at) => at,
                Entry::Range { start, step, .. } => start.plus(1, &step.times(needed(index.next())?)?)?,
            };
            let dim = self.dim(data, source.len())?;
            self.in_range(&at, &dim)?;
            source.push(at);
        }
        Ok((data, source))
    }

    /// The size of an axis of a slice.
    pub(super) fn selected_size(&mut self, node: &Node, value: Value, axis: usize) -> Step<Poly> {
        let data = needed(node.input(0))?;
        let entries = self.entries(node, value, data)?;
        let kept = (0..entries.len()).filter(|&entry| !matches!(entries[entry], Entry::Single(_)));
        let here = needed(kept.clone().nth(axis))?;
        match &entries[here] {
            Entry::New | Entry::Single(_) => Ok(Poly::constant(1)),
            Entry::Whole => {
                let before = entries[..here].iter().filter(|entry| !matches!(entry, Entry::New));
                self.dim(data, before.count())
            }
            Entry::Range { length, .. } => needed(length.clone()),
        }
    }

    /// What happens to each axis.
    fn entries(&mut self, node: &Node, value: Value, data: Value) -> Step<Vec<Entry>> {
        let rank = self.rank(data)?;
        if node.op == "StridedSlice" {
            return self.strided(node, data, rank);
        }
        let mut entries = vec![Entry::Whole; rank];
        match node.op.as_str() {
            "slice" => self.primitive(node, &mut entries)?,
            "Slice" => self.range_of_each(node, data, &mut entries)?,
            "Crop" => {
                let offsets = needed(node.ints("crop_begin").or_else(|| node.ints("offset")))?;
                for (axis, offset) in needed(node.ints("axis"))?.into_iter().zip(offsets) {
                    let (start, step) = (Poly::constant(offset.into()), Poly::constant(1));
                    entries[Self::axis(axis, rank)?] = Entry::Range { start, length: None, step };
                }
            }
            "Reverse" => {
                let axes = self.constants(node, 1)?;
                let is_mask = node.text("mode") == Some("mask");
                for (axis, entry) in entries.iter_mut().enumerate() {
                    let is_set = is_mask && axes.get(axis).is_some_and(|bit| *bit != 0);
                    if is_set || !is_mask && axes.contains(&(axis as i64)) {
                        let start = self.dim(data, axis)?.plus_constant(-1)?;
                        *entry = Entry::Range { start, length: None, step: Poly::constant(-1) };
                    }
                }
            }
            _ => {
                let axis = self.known_axis(node, 1, rank)?;
                entries[axis] = self.part(node, value, data, axis)?;
            }
        }
        Ok(entries)
    }

    /// snick's primitive: numbers that are not attributes are scalar inputs.
    fn primitive(&mut self, node: &Node, entries: &mut [Entry]) -> Step<()> {
        let mut operands = 1..;
        for (i, axis) in needed(node.ints("axes"))?.into_iter().enumerate() {
            let mut number = |name| {
                let number = needed(node.attributes.get(name).and_then(|list| list.get(i)))?;
                match number.as_i64().or_else(|| number.as_str()?.parse().ok()) {
                    Some(number) => Ok(Poly::constant(number.into())),
                    None => self.scalar(needed(operands.next().and_then(|operand| node.input(operand)))?),
                }
            };
            let (start, length, step) = (number("start")?, Some(number("len")?), number("step")?);
            entries[Self::axis(axis, entries.len())?] = Entry::Range { start, length, step };
        }
        Ok(())
    }

    /// Slice-8: starts, stops and steps, by axis.
    fn range_of_each(&mut self, node: &Node, data: Value, entries: &mut [Entry]) -> Step<()> {
        let starts = needed(node.input(1))?;
        let axes = match node.input(4) {
            Some(_) => self.constants(node, 4)?,
            None => (0..self.static_length(starts)?).collect(),
        };
        for (i, axis) in axes.into_iter().enumerate() {
            let axis = Self::axis(axis, entries.len())?;
            let at = [Poly::constant(i as i128)];
            let start = Some(self.integer(starts, &at)?);
            let stop = Some(self.integer(needed(node.input(2))?, &at)?);
            let step = self.integer(needed(node.input(3))?, &at)?;
            entries[axis] = self.range(data, axis, Range { start, stop, step })?;
        }
        Ok(())
    }

    /// The number of elements of a short tensor with one axis.
    pub(super) fn static_length(&self, value: Value) -> Step<i64> {
        match self.graph.dims(value) {
            Some([Size::Int(length)]) if (0..=MAX_LENGTH).contains(length) => Ok(*length),
            _ => Err(Stop::Opaque),
        }
    }

    /// StridedSlice-1, whose masks are lists of 0 and 1.
    fn strided(&mut self, node: &Node, data: Value, rank: usize) -> Step<Vec<Entry>> {
        let (begins, ends) = (needed(node.input(1))?, needed(node.input(2))?);
        let count = self.static_length(begins)?;
        let is_set = |mask: &str, i: i64| {
            let bit = node.ints(mask).and_then(|bits| bits.get(usize::try_from(i).ok()?).copied());
            bit.is_some_and(|bit| bit != 0)
        };
        let is_new = |i| is_set("new_axis_mask", i) && !is_set("ellipsis_mask", i);
        let ellipsis = (0..count).find(|&i| is_set("ellipsis_mask", i));
        let consumed = (0..count).filter(|&i| !is_new(i) && Some(i) != ellipsis).count();
        let skipped = needed(rank.checked_sub(consumed))?;
        let (mut entries, mut axis) = (Vec::new(), 0);
        for i in 0..count {
            let at = [Poly::constant(i.into())];
            if Some(i) == ellipsis {
                entries.extend(vec![Entry::Whole; skipped]);
                axis += skipped;
                continue;
            } else if is_new(i) {
                entries.push(Entry::New);
                continue;
            } else if is_set("shrink_axis_mask", i) {
                let (begin, dim) = (self.integer(begins, &at)?, self.dim(data, axis)?);
                entries.push(Entry::Single(self.counted_from_end(begin, &dim)?));
            } else {
                let mut bound = |mask, value| match is_set(mask, i) {
                    true => Ok(None),
                    false => self.integer(value, &at).map(Some),
                };
                let (start, stop) = (bound("begin_mask", begins)?, bound("end_mask", ends)?);
                let steps = node.input(3).map(|steps| self.integer(steps, &at));
                let step = steps.unwrap_or(Ok(Poly::constant(1)))?;
                entries.push(self.range(data, axis, Range { start, stop, step })?);
            }
            axis += 1;
        }
        entries.extend((axis..rank).map(|_| Entry::Whole));
        Ok(entries)
    }

    /// A part of Split and VariadicSplit starts where the parts before it end.
    fn part(&mut self, node: &Node, value: Value, data: Value, axis: usize) -> Step<Entry> {
        let (mut start, mut rest) = (Poly::ZERO, self.dim(data, axis)?);
        for port in 0..node.outputs.len() {
            let length = self.dim(Value { port, ..value }, axis)?;
            self.require(length.clone(), "a part may have a negative length")?;
            if port < value.port {
                start = start.plus(1, &length)?;
            }
            rest = rest.plus(-1, &length)?;
        }
        // The parts cover the whole axis.
        self.require(rest.times_constant(-1)?, "parts may be too short")?;
        self.require(rest, "parts may be too long")?;
        Ok(Entry::Range { start, length: None, step: Poly::constant(1) })
    }

    /// Counts a negative index from the end.
    pub(super) fn counted_from_end(&mut self, index: Poly, dim: &Poly) -> Step<Poly> {
        Ok(if self.ask(index.clone())? { index } else { index.plus(1, dim)? })
    }

    fn range(&mut self, data: Value, axis: usize, range: Range) -> Step<Entry> {
        let dim = self.dim(data, axis)?;
        let (start, length) = self.clamped(&range, &dim)?;
        Ok(Entry::Range { start, length: Some(length), step: range.step })
    }

    /// The first index and the number of elements of a range on an axis.
    fn clamped(&mut self, range: &Range, dim: &Poly) -> Step<(Poly, Poly)> {
        let ascends = self.ask(range.step.plus_constant(-1)?)?;
        if !ascends {
            self.require(range.step.negated()?, "a step may be 0")?;
        }
        if let Some(clamped) = self.without_cases(|case| case.clamped_by_cases(range, dim, ascends))? {
            return Ok(clamped);
        }
        let Range { start, stop, step } = range;
        let arguments = vec![start.clone(), stop.clone(), Some(step.clone()), Some(dim.clone())];
        let start = self.function(Function::Start, arguments.clone())?;
        let length = self.function(Function::Length, arguments)?;
        // All elements are on the axis.
        let last = start.plus(1, &step.times(&length)?)?.plus(-1, step)?;
        let (least, greatest) = if ascends { (&start, &last) } else { (&last, &start) };
        self.assume(length.clone());
        self.assume(least.clone());
        self.assume(dim.plus_constant(-1)?.plus(-1, greatest)?);
        Ok((start, length))
    }

    fn clamped_by_cases(&mut self, range: &Range, dim: &Poly, ascends: bool) -> Step<(Poly, Poly)> {
        let (direction, high) = if ascends { (1, dim.clone()) } else { (-1, dim.plus_constant(-1)?) };
        let before = Poly::constant(if ascends { 0 } else { -1 });
        let mut bound = |bound: &Option<Poly>, open: &Poly, low: &Poly| match bound {
            None => Ok(open.clone()),
            Some(bound) => {
                let bound = self.counted_from_end(bound.clone(), dim)?;
                let bound = self.max(&bound, low)?;
                self.min(bound, high.clone())
            }
        };
        let (first, end) = if ascends { (&before, &high) } else { (&high, &before) };
        let start = bound(&range.start, first, &Poly::ZERO)?;
        let stop = bound(&range.stop, end, &before)?;
        let last = stop.plus(-1, &start)?.times_constant(direction)?.plus_constant(-1)?;
        if !self.ask(last.clone())? {
            return Ok((start, Poly::ZERO));
        }
        let steps = self.quotient(&last, &range.step.times_constant(direction)?)?;
        Ok((start, steps.plus_constant(1)?))
    }

    /// snick's primitive `bounds`: the first index and the length of a range.
    pub(super) fn bounds(&mut self, node: &Node) -> Step<(Poly, Poly)> {
        let mut operands = 0..;
        let mut number = |name| match (node.int(name), node.text(name)) {
            (Some(int), _) => Ok(Some(Poly::constant(int.into()))),
            (_, Some("open")) => Ok(None),
            _ => self.scalar(needed(operands.next().and_then(|operand| node.input(operand)))?).map(Some),
        };
        let size = needed(number("size")?)?;
        let (start, stop, step) = (number("start")?, number("stop")?, needed(number("step")?)?);
        self.clamped(&Range { start, stop, step }, &size)
    }
}
