//! The rule of both slice dialects, evaluated index by index, as the reference for the tests. It shares no
//! code with snick.

/// A StridedSlice-1 or a Slice-8 with all numbers known.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Slicing {
    /// The five masks of a StridedSlice in the order of [`MASKS`]; `None` for a Slice-8.
    pub masks: Option<[Vec<u8>; 5]>,
    /// `begin` or `start`.
    pub start: Vec<i64>,
    /// `end` or `stop`.
    pub stop: Vec<i64>,
    /// `stride` or `step`; only a StridedSlice may omit it.
    pub step: Option<Vec<i64>>,
    /// Only for a Slice-8.
    pub axes: Option<Vec<i64>>,
}

pub const MASKS: [&str; 5] = ["begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask"];

/// The time at which an invalid slice is rejected.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// During inference or earlier.
    Infer,
    /// At run time.
    Run,
}

/// The slice along one axis of the input.
#[derive(Clone, Debug)]
pub struct Walk {
    pub axis: usize,
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub step: i64,
    pub single: bool,
}

/// The walks along input axes, and for each axis of the output, its input axis; `None` for a new axis.
pub type Plan = (Vec<Walk>, Vec<Option<usize>>);

/// The elements of `start:stop:step` on an axis of `dim`; `None` is a masked bound.
pub fn walk(dim: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<i64> {
    let d = i128::from(dim);
    let from_end = |v: i64| if v < 0 { i128::from(v) + d } else { i128::from(v) };
    let forward = step > 0;
    let mut at = start.map_or(if forward { 0 } else { d - 1 }, from_end).max(0);
    if !forward {
        at = at.min(d - 1);
    }
    let stop = stop.map_or(if forward { d } else { -1 }, |v| from_end(v).max(-1));
    let mut walked = Vec::new();
    while if forward { at < stop && at < d } else { at > stop && at >= 0 } {
        walked.push(at as i64);
        at += i128::from(step);
    }
    walked
}

impl Slicing {
    fn bit(&self, mask: usize, entry: usize) -> bool {
        self.masks.as_ref().is_some_and(|masks| masks[mask].get(entry) == Some(&1))
    }

    pub fn plan(&self, rank: usize) -> Result<Plan, Refused> {
        let count = self.start.len();
        let step = self.step.clone().unwrap_or_else(|| vec![1; count]);
        if self.stop.len() != count || step.len() != count {
            return Err(Refused::Infer);
        }
        let Some(masks) = &self.masks else { return self.plan_listed(rank, &step) };
        let fits = |mask: &Vec<u8>| mask.is_empty() || mask.len() == masks[0].len();
        let ellipses = masks[4].iter().filter(|bit| **bit == 1).count();
        let takes = |i: usize| !self.bit(4, i) && !self.bit(2, i);
        let taken = (0..count).filter(|&i| takes(i)).count();
        if !masks.iter().all(fits) || ellipses > 1 || taken > rank {
            return Err(Refused::Infer);
        }
        let (mut walks, mut outs, mut axis) = (Vec::new(), Vec::new(), 0);
        for (i, &step) in step.iter().enumerate() {
            if self.bit(4, i) {
                outs.extend((axis..axis + rank - taken).map(Some));
                axis += rank - taken;
                continue;
            }
            if self.bit(2, i) {
                outs.push(None);
                continue;
            }
            let single = self.bit(3, i);
            if !single && step == 0 {
                return Err(Refused::Infer);
            }
            let start = (single || !self.bit(0, i)).then_some(self.start[i]);
            let stop = (!self.bit(1, i)).then_some(self.stop[i]);
            walks.push(Walk { axis, start, stop, step, single });
            outs.extend((!single).then_some(Some(axis)));
            axis += 1;
        }
        outs.extend((axis..rank).map(Some));
        Ok((walks, outs))
    }

    fn plan_listed(&self, rank: usize, step: &[i64]) -> Result<Plan, Refused> {
        let count = self.start.len();
        let axes = self.axes.clone().unwrap_or_else(|| (0..count as i64).collect());
        if rank == 0 || count > rank || axes.len() != count || step.contains(&0) {
            return Err(Refused::Infer);
        }
        let mut walks: Vec<Walk> = Vec::new();
        for (i, axis) in axes.into_iter().enumerate() {
            if !(-(rank as i64)..rank as i64).contains(&axis) {
                return Err(Refused::Infer);
            }
            let axis = axis.rem_euclid(rank as i64) as usize;
            if walks.iter().any(|walk| walk.axis == axis) {
                return Err(Refused::Infer);
            }
            let (start, stop) = (Some(self.start[i]), Some(self.stop[i]));
            walks.push(Walk { axis, start, stop, step: step[i], single: false });
        }
        Ok((walks, (0..rank).map(Some).collect()))
    }

    /// The dims of the output, and the row-major positions of its elements in the input.
    pub fn select(&self, dims: &[usize]) -> Result<(Vec<usize>, Vec<usize>), Refused> {
        let (walks, outs) = self.plan(dims.len())?;
        let mut kept: Vec<Vec<i64>> = dims.iter().map(|&dim| (0..dim as i64).collect()).collect();
        for walk in walks {
            let dim = dims[walk.axis] as i64;
            kept[walk.axis] = if walk.single {
                let index = walk.start.unwrap_or(0);
                let index = if index < 0 { index.saturating_add(dim) } else { index };
                if !(0..dim).contains(&index) {
                    return Err(Refused::Run);
                }
                vec![index]
            } else {
                self::walk(dim, walk.start, walk.stop, walk.step)
            };
        }
        let mut positions = vec![0usize];
        for (axis, &dim) in dims.iter().enumerate() {
            let along = |at: &usize| kept[axis].iter().map(|&k| at * dim + k as usize).collect::<Vec<_>>();
            positions = positions.iter().flat_map(along).collect();
        }
        Ok((outs.iter().map(|out| out.map_or(1, |axis| kept[axis].len())).collect(), positions))
    }
}
