//! Slices.

use super::Element;
use crate::atoms::Function;
use crate::case::{Case, Step, fits, stuck};
use crate::graph::{Attribute, Node, Size, Value};
use crate::poly::Poly;

/// Longest list of numbers, one for each axis, that is written out.
const MAX_LENGTH: i64 = 64;

/// A slice of an axis, in numpy's terms. Without a start or stop, it reaches to the end in its direction.
pub(super) struct Range {
    pub start: Option<Poly>,
    pub stop: Option<Poly>,
    pub step: Poly,
}

/// What happens to an axis of the data, or between two axes.
enum Entry {
    /// The axis is kept.
    Whole,
    /// An axis of size 1 is inserted.
    New,
    /// One index is selected, and the axis is dropped.
    Single(Poly),
    /// Element `k` is element `start + k * step`; also the number of elements.
    Range(Poly, Poly, Poly),
}

impl Case<'_> {
    /// The element of the data that an element of a slice is.
    pub(super) fn selected(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(entries)) = (node.input(0), self.entries(node)?) else { return Ok(None) };
        let (mut source, mut outer) = (Vec::new(), index.iter());
        for entry in entries {
            let at = match entry {
                Entry::Single(at) => at,
                entry => {
                    let Some(k) = outer.next() else { return Ok(None) };
                    match entry {
                        Entry::New | Entry::Single(_) => continue,
                        Entry::Whole => {
                            source.push(k.clone());
                            continue;
                        }
                        Entry::Range(start, _, step) => fits(start.plus(1, &fits(step.times(k))?))?,
                    }
                }
            };
            let dim = self.dim(data, source.len())?;
            self.in_range(&at, &dim)?;
            source.push(at);
        }
        Ok(Some((data, source)))
    }

    /// The size of an axis of a slice.
    pub(super) fn selected_size(&mut self, node: &Node, axis: usize) -> Step<Option<Poly>> {
        let (Some(data), Some(entries)) = (node.input(0), self.entries(node)?) else { return Ok(None) };
        let (mut inner, mut outer) = (0, 0);
        for entry in entries {
            let is_here = outer == axis && !matches!(entry, Entry::Single(_));
            match entry {
                Entry::New if is_here => return Ok(Some(Poly::constant(1))),
                Entry::Whole if is_here => return self.dim(data, inner).map(Some),
                Entry::Range(_, length, _) if is_here => return Ok(Some(length)),
                _ => {}
            }
            inner += usize::from(!matches!(entry, Entry::New));
            outer += usize::from(!matches!(entry, Entry::Single(_)));
        }
        Ok(None)
    }

    fn entries(&mut self, node: &Node) -> Step<Option<Vec<Entry>>> {
        match node.op.as_str() {
            "slice" => self.primitive(node),
            "Slice" => self.range_of_each(node),
            "StridedSlice" => self.strided(node),
            _ => Ok(None),
        }
    }

    /// snick's primitive: numbers that are not attributes are scalar inputs.
    fn primitive(&mut self, node: &Node) -> Step<Option<Vec<Entry>>> {
        let (Some(rank), Some(axes)) = (node.input(0).and_then(|data| self.rank(data)), node.ints("axes"))
        else {
            return Ok(None);
        };
        let mut entries: Vec<Entry> = (0..rank).map(|_| Entry::Whole).collect();
        let mut operand = 1;
        for (i, &axis) in axes.iter().enumerate() {
            let mut numbers = [const { Poly::ZERO }; 3];
            for (name, number) in ["start", "len", "step"].into_iter().zip(&mut numbers) {
                let known = match node.attributes.get(name) {
                    Some(Attribute::Ints(ints)) => ints.get(i).copied(),
                    Some(Attribute::Texts(texts)) => texts.get(i).and_then(|text| text.parse().ok()),
                    _ => return Ok(None),
                };
                *number = match (known, node.input(operand)) {
                    (Some(known), _) => Poly::constant(i128::from(known)),
                    (None, Some(input)) => {
                        operand += 1;
                        self.scalar(input)?
                    }
                    (None, None) => return Ok(None),
                };
            }
            let [start, length, step] = numbers;
            let Some(entry) = Self::axis(axis, rank).and_then(|axis| entries.get_mut(axis)) else {
                return Ok(None);
            };
            *entry = Entry::Range(start, length, step);
        }
        Ok(Some(entries))
    }

    /// Slice-8: starts, stops and steps, by axis.
    fn range_of_each(&mut self, node: &Node) -> Step<Option<Vec<Entry>>> {
        let [Some(data), Some(starts), Some(stops), Some(steps)] = [0, 1, 2, 3].map(|port| node.input(port))
        else {
            return Ok(None);
        };
        let axes = match node.input(4) {
            Some(_) => self.constants(node, 4),
            None => self.static_length(starts).map(|length| (0..length).collect()),
        };
        let (Some(rank), Some(axes)) = (self.rank(data), axes) else { return Ok(None) };
        let mut entries: Vec<Entry> = (0..rank).map(|_| Entry::Whole).collect();
        for (i, axis) in (0..).zip(axes) {
            let Some(axis) = Self::axis(axis, rank) else { return Ok(None) };
            let at = [Poly::constant(i)];
            let range = Range {
                start: Some(self.integer(starts, &at)?),
                stop: Some(self.integer(stops, &at)?),
                step: self.integer(steps, &at)?,
            };
            let dim = self.dim(data, axis)?;
            let (start, length) = self.clamped(&range, &dim)?;
            entries[axis] = Entry::Range(start, length, range.step);
        }
        Ok(Some(entries))
    }

    /// The number of elements of a short tensor with one axis.
    pub(super) fn static_length(&self, value: Value) -> Option<i64> {
        match self.graph.dims(value)? {
            [Size::Int(length)] => Some(*length).filter(|length| (0..=MAX_LENGTH).contains(length)),
            _ => None,
        }
    }

    /// StridedSlice-1, whose masks are lists of 0 and 1.
    fn strided(&mut self, node: &Node) -> Step<Option<Vec<Entry>>> {
        let [Some(data), Some(begins), Some(ends)] = [0, 1, 2].map(|port| node.input(port)) else {
            return Ok(None);
        };
        let (Some(rank), Some(entries)) = (self.rank(data), self.static_length(begins)) else {
            return Ok(None);
        };
        let is_set = |mask: &str, entry: i64| {
            let bit = usize::try_from(entry).ok().and_then(|entry| node.ints(mask)?.get(entry));
            bit.is_some_and(|bit| *bit != 0)
        };
        let is_new = |entry| is_set("new_axis_mask", entry) && !is_set("ellipsis_mask", entry);
        let ellipsis = (0..entries).find(|&entry| is_set("ellipsis_mask", entry));
        let consumed = (0..entries).filter(|&entry| !is_new(entry) && Some(entry) != ellipsis).count();
        let Some(skipped) = rank.checked_sub(consumed) else { return Ok(None) };
        let (mut plan, mut axis) = (Vec::new(), 0);
        for entry in 0..entries {
            if Some(entry) == ellipsis {
                plan.extend((0..skipped).map(|_| Entry::Whole));
                axis += skipped;
                continue;
            }
            if is_new(entry) {
                plan.push(Entry::New);
                continue;
            }
            let at = [Poly::constant(i128::from(entry))];
            let dim = self.dim(data, axis)?;
            axis += 1;
            if is_set("shrink_axis_mask", entry) {
                let begin = self.integer(begins, &at)?;
                plan.push(Entry::Single(self.counted_from_end(begin, &dim)?));
                continue;
            }
            let bound = |case: &mut Self, value, mask| match is_set(mask, entry) {
                true => Ok(None),
                false => case.integer(value, &at).map(Some),
            };
            let range = Range {
                start: bound(self, begins, "begin_mask")?,
                stop: bound(self, ends, "end_mask")?,
                step: match node.input(3) {
                    Some(strides) => self.integer(strides, &at)?,
                    None => Poly::constant(1),
                },
            };
            let (start, length) = self.clamped(&range, &dim)?;
            plan.push(Entry::Range(start, length, range.step));
        }
        plan.extend((axis..rank).map(|_| Entry::Whole));
        Ok(Some(plan))
    }

    /// Counts a negative index from the end.
    pub(super) fn counted_from_end(&mut self, index: Poly, dim: &Poly) -> Step<Poly> {
        Ok(if self.ask(index.clone())? { index } else { fits(index.plus(1, dim))? })
    }

    /// The first index and the number of elements of a range on an axis.
    pub(super) fn clamped(&mut self, range: &Range, dim: &Poly) -> Step<(Poly, Poly)> {
        let one = Poly::constant(1);
        let ascends = self.ask(fits(range.step.plus(-1, &one))?)?;
        if !ascends {
            self.require(fits(range.step.negated())?, "a step may be 0")?;
        }
        if let Some(clamped) = self.without_cases(|case| case.clamped_by_cases(range, dim, ascends))? {
            return Ok(clamped);
        }
        let arguments =
            vec![range.start.clone(), range.stop.clone(), Some(range.step.clone()), Some(dim.clone())];
        let start = self.function(Function::Start, arguments.clone())?;
        let length = self.function(Function::Length, arguments)?;
        // All elements are on the axis.
        let last = fits(fits(start.plus(1, &fits(range.step.times(&length))?))?.plus(-1, &range.step))?;
        let (least, greatest) = if ascends { (&start, &last) } else { (&last, &start) };
        self.assume(length.clone());
        self.assume(least.clone());
        self.assume(fits(fits(dim.plus_constant(-1))?.plus(-1, greatest))?);
        Ok((start, length))
    }

    fn clamped_by_cases(&mut self, range: &Range, dim: &Poly, ascends: bool) -> Step<(Poly, Poly)> {
        let one = Poly::constant(1);
        let last = fits(dim.plus(-1, &one))?;
        let (low, high) = match ascends {
            true => (Poly::default(), dim.clone()),
            false => (Poly::constant(-1), last.clone()),
        };
        let mut bound = |bound: &Option<Poly>, open: &Poly, low: &Poly| match bound {
            None => Ok(open.clone()),
            Some(bound) => {
                let bound = self.counted_from_end(bound.clone(), dim)?;
                let bound = self.max(bound, low.clone())?;
                self.min(bound, high.clone())
            }
        };
        let (start, stop, span, step);
        if ascends {
            start = bound(&range.start, &low, &low)?;
            stop = bound(&range.stop, &high, &low)?;
            (span, step) = (fits(stop.plus(-1, &start))?, range.step.clone());
        } else {
            start = bound(&range.start, &high, &Poly::default())?;
            stop = bound(&range.stop, &low, &low)?;
            (span, step) = (fits(start.plus(-1, &stop))?, fits(range.step.times_constant(-1))?);
        }
        if !self.ask(fits(span.plus(-1, &one))?)? {
            return Ok((start, Poly::default()));
        }
        match self.quotient(&fits(span.plus(-1, &one))?, &step)? {
            Some(quotient) => Ok((start, fits(quotient.plus(1, &one))?)),
            None => stuck("a step may be 0"),
        }
    }

    /// snick's primitive `bounds`: the first index and the length of a range.
    pub(super) fn bounds(&mut self, node: &Node) -> Step<Option<[Poly; 2]>> {
        let mut numbers = [const { None }; 4];
        let mut operand = 0;
        for (name, number) in ["size", "start", "stop", "step"].into_iter().zip(&mut numbers) {
            *number = match node.attributes.get(name) {
                Some(Attribute::Int(int)) => Some(Poly::constant(i128::from(*int))),
                Some(Attribute::Text(text)) if text == "open" => None,
                _ => {
                    let Some(input) = node.input(operand) else { return Ok(None) };
                    operand += 1;
                    Some(self.scalar(input)?)
                }
            };
        }
        let [Some(size), start, stop, Some(step)] = numbers else { return Ok(None) };
        let (start, length) = self.clamped(&Range { start, stop, step }, &size)?;
        Ok(Some([start, length]))
    }

    /// Crop, whose window starts at offsets.
    pub(super) fn crop(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let offsets = node.ints("crop_begin").or_else(|| node.ints("offset"));
        let (Some(data), Some(axes), Some(offsets)) = (node.input(0), node.ints("axis"), offsets) else {
            return Ok(None);
        };
        let mut index = index.to_vec();
        for (&axis, &offset) in axes.iter().zip(offsets) {
            let Some(axis) = Self::axis(axis, index.len()) else { return Ok(None) };
            index[axis] = fits(index[axis].plus_constant(i128::from(offset)))?;
            let dim = self.dim(data, axis)?;
            self.in_range(&index[axis], &dim)?;
        }
        Ok(Some((data, index)))
    }

    pub(super) fn reversed(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(axes)) = (node.input(0), self.constants(node, 1)) else { return Ok(None) };
        let is_mask = node.text("mode") == Some("mask");
        let mut index = index.to_vec();
        for (axis, at) in index.iter_mut().enumerate() {
            let is_reversed = match is_mask {
                true => axes.get(axis).is_some_and(|bit| *bit != 0),
                false => axes.contains(&(axis as i64)),
            };
            if is_reversed {
                let last = fits(self.dim(data, axis)?.plus_constant(-1))?;
                *at = fits(last.plus(-1, at))?;
            }
        }
        Ok(Some((data, index)))
    }
}
