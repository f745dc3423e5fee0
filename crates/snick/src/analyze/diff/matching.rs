//! Matches the layers of two graphs in four steps:
//! 1. by structure, for layers with the same computation above them (towards the inputs) or below them
//!    (towards the outputs);
//! 2. by neighbourhood;
//! 3. by name;
//! 4. across an unmatched layer, if the layer on its other side is matched.

use std::collections::{HashMap, VecDeque};

use snick_ir::Op;

use super::ends::{self, Pairs};
use super::fingerprint::{down, neighbourhoods};
use super::layer::hash_of;
use super::nearest::{Direction, MAX_PASSED, Matched, Side, meet};
use super::scope::{Scope, Source};

/// Radius, in edges, of the neighbourhoods that are compared to match unchanged layers that have edits both
/// above and below.
const RADIUS: usize = 4;

/// Minimum number of elements of a constant that is matched by its content. Smaller constants often equal
/// many others, so they are matched through their readers.
const TELLING_ELEMENTS: usize = 16;

/// The corresponding layers of two graphs.
pub(super) struct Matching<'s, 'g> {
    pub a: &'s Scope<'g>,
    pub b: &'s Scope<'g>,
    /// The partner of each layer of `a`.
    pub of_a: Vec<Option<usize>>,
    /// The partner of each layer of `b`.
    pub of_b: Vec<Option<usize>>,
    /// Pairs of matched layers, in the order in which they were found.
    found: Vec<(usize, usize)>,
}

/// A key for each layer of both graphs.
type Keys = (Vec<u64>, Vec<u64>);

impl<'s, 'g> Matching<'s, 'g> {
    /// Matches layers. `parameters` are the corresponding inputs. If `results` is `None`, corresponding
    /// outputs are computed.
    pub fn new(a: &'s Scope<'g>, b: &'s Scope<'g>, parameters: &Pairs, results: Option<Pairs>) -> Self {
        let mut matching =
            Self { a, b, of_a: vec![None; a.len()], of_b: vec![None; b.len()], found: Vec::new() };
        let (ours, theirs) = ends::labels(parameters, a.parameters.len(), b.parameters.len());
        let up = (a.up(&ours), b.up(&theirs));
        let results = results.unwrap_or_else(|| ends::results(a, b, &up.0, &up.1));
        let (ours, theirs) = ends::labels(&results, a.results.len(), b.results.len());
        let down = (down(a, &ours), down(b, &theirs));
        parameters.iter().for_each(|&(x, y)| matching.commit(a.parameters[x], b.parameters[y]));
        results.iter().for_each(|&(x, y)| matching.commit(a.results[x], b.results[y]));
        matching.by_structure(&up, &down);
        matching.by_neighbourhood();
        matching.by_name();
        matching.by_passing();
        matching
    }

    /// The corresponding layers, in the order of `a`.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.of_a.iter().enumerate().filter_map(|(x, y)| Some((x, (*y)?)))
    }

    /// Pairs two layers of the same op, except Parameters and Results, which were matched before.
    fn pair(&mut self, x: usize, y: usize) {
        let (ours, theirs) = (self.a.layers[x].op(), self.b.layers[y].op());
        let is_end = matches!(ours, Op::Parameter(_) | Op::Result(_));
        if !is_end && ours.type_name() == theirs.type_name() {
            self.commit(x, y);
        }
    }

    fn commit(&mut self, x: usize, y: usize) {
        if self.of_a[x].is_none() && self.of_b[y].is_none() {
            (self.of_a[x], self.of_b[y]) = (Some(y), Some(x));
            self.found.push((x, y));
        }
    }

    /// Matches layers by the hashes of everything above and below them: first layers for which both are
    /// equal, then layers for which only the part below is equal, then layers for which only the part above
    /// is equal.
    fn by_structure(&mut self, up: &Keys, down: &Keys) {
        let both = |up: &[u64], down: &[u64]| up.iter().zip(down).map(hash_of).collect::<Vec<_>>();
        let both: Keys = (both(&up.0, &down.0), both(&up.1, &down.1));
        self.unique(&both, |_| true);
        self.propagate(0, &both, Choice::Unique);
        self.groups(&both);
        self.unique(down, |_| true);
        self.propagate(0, down, Choice::Unique);
        let is_telling = |op: &Op| match op {
            Op::Const(constant) => {
                constant.dims().iter().fold(1usize, |n, &dim| n.saturating_mul(dim)) >= TELLING_ELEMENTS
            }
            _ => true,
        };
        self.unique(up, is_telling);
        self.propagate(0, up, Choice::Unique);
    }

    /// Matches unchanged layers that have edits both above and below: first layers with the same unique
    /// neighbourhood, then neighbours of matched layers.
    fn by_neighbourhood(&mut self) {
        if self.is_complete() {
            return;
        }
        let around = (neighbourhoods(self.a, RADIUS), neighbourhoods(self.b, RADIUS));
        let mut levels: Vec<Keys> = around.0.into_iter().zip(around.1).collect();
        while let Some(keys) = levels.pop() {
            if !levels.is_empty() {
                self.unique(&keys, |op| !matches!(op, Op::Const(_)));
            }
            self.propagate(0, &keys, Choice::Unique);
        }
        let ops = self.op_keys();
        self.propagate(0, &ops, Choice::Unique);
        self.propagate(0, &ops, Choice::InOrder);
    }

    /// Matches the remaining layers by name, if their nearest matched neighbours above and below correspond.
    fn by_name(&mut self) {
        if self.is_complete() {
            return;
        }
        let mut named: HashMap<&str, Option<usize>> = HashMap::new();
        for y in (0..self.b.len()).filter(|&y| self.of_b[y].is_none()) {
            named.entry(self.b.layers[y].name()).and_modify(|known| *known = None).or_insert(Some(y));
        }
        let before = self.found.len();
        for x in 0..self.a.len() {
            let same = named.get(self.a.layers[x].name()).copied().flatten();
            let Some(y) = same.filter(|_| self.of_a[x].is_none()) else { continue };
            if self.is_between_the_same(x, y) {
                self.pair(x, y);
            }
        }
        let ops = self.op_keys();
        self.propagate(before, &ops, Choice::InOrder);
    }

    /// Matches remaining layers that are separated from a matched layer by a single unmatched layer.
    fn by_passing(&mut self) {
        if self.is_complete() {
            return;
        }
        let ops = self.op_keys();
        let mut at = 0;
        while let Some(&(x, y)) = self.found.get(at) {
            at += 1;
            let before = self.found.len();
            [Direction::Above, Direction::Below].into_iter().for_each(|direction| self.pass(x, y, direction));
            self.propagate(before, &ops, Choice::InOrder);
        }
    }

    /// Pairs a neighbour of `x` with a neighbour of a neighbour of `y`, or vice versa.
    fn pass(&mut self, x: usize, y: usize, direction: Direction) {
        let free = |side, layer| self.side(side).free(layer, direction);
        let (ours, theirs) = (free(Side::A, x), free(Side::B, y));
        let beyond = |side, beside: &[usize]| -> Vec<usize> {
            beside.iter().flat_map(|&passed| free(side, passed)).collect()
        };
        let (beyond_ours, beyond_theirs) = (beyond(Side::A, &ours), beyond(Side::B, &theirs));
        let near = ours.iter().flat_map(|&x| beyond_theirs.iter().map(move |&y| (x, y)));
        let far = beyond_ours.iter().flat_map(|&x| theirs.iter().map(move |&y| (x, y)));
        for (x, y) in near.chain(far).take(MAX_PASSED) {
            let is_free = self.of_a[x].is_none() && self.of_b[y].is_none();
            let is_alike = self.a.locals[x] == self.b.locals[y];
            if is_free && is_alike && self.is_between_the_same(x, y) {
                self.pair(x, y);
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.found.len() >= self.a.len().min(self.b.len())
    }

    fn op_keys(&self) -> Keys {
        let keys = |scope: &Scope| scope.layers.iter().map(|layer| hash_of(layer.op().type_name())).collect();
        (keys(self.a), keys(self.b))
    }

    /// Pairs unmatched layers if their key occurs only once in each graph. Only considers ops for which
    /// `is_meant` returns true.
    fn unique(&mut self, keys: &Keys, is_meant: impl Fn(&Op) -> bool) {
        /// For each graph, the last layer with a key, and the number of layers with this key.
        #[derive(Default)]
        struct Holders {
            last: (usize, usize),
            count: (usize, usize),
        }
        let mut holders: HashMap<u64, Holders> = HashMap::new();
        for x in (0..self.a.len()).filter(|&x| self.of_a[x].is_none() && is_meant(self.a.layers[x].op())) {
            let held = holders.entry(keys.0[x]).or_default();
            (held.last.0, held.count.0) = (x, held.count.0 + 1);
        }
        for y in (0..self.b.len()).filter(|&y| self.of_b[y].is_none()) {
            if let Some(held) = holders.get_mut(&keys.1[y]) {
                (held.last.1, held.count.1) = (y, held.count.1 + 1);
            }
        }
        let mut found: Vec<(usize, usize)> =
            holders.into_values().filter(|held| held.count == (1, 1)).map(|held| held.last).collect();
        found.sort_unstable();
        found.into_iter().for_each(|(x, y)| self.pair(x, y));
    }

    /// Pairs layers whose key is not unique, first by name, then in order. After each pair, also pairs the
    /// neighbours that the pair determines.
    fn groups(&mut self, keys: &Keys) {
        let mut named: HashMap<(u64, &str), usize> = HashMap::new();
        let mut waiting: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for y in (0..self.b.len()).filter(|&y| self.of_b[y].is_none()) {
            named.insert((keys.1[y], self.b.layers[y].name()), y);
            waiting.entry(keys.1[y]).or_default().push_back(y);
        }
        for is_by_name in [true, false] {
            for x in 0..self.a.len() {
                if self.of_a[x].is_some() {
                    continue;
                }
                let key = keys.0[x];
                let y = match is_by_name {
                    true => named.get(&(key, self.a.layers[x].name())).copied(),
                    false => waiting.get_mut(&key).and_then(|waiting| {
                        std::iter::from_fn(|| waiting.pop_front()).find(|&y| self.of_b[y].is_none())
                    }),
                };
                if let Some(y) = y.filter(|&y| self.of_b[y].is_none()) {
                    let before = self.found.len();
                    self.pair(x, y);
                    self.propagate(before, keys, Choice::Unique);
                }
            }
        }
    }

    /// For each pair of `found` from index `before` on, pairs the sources and the readers of both layers if
    /// their keys are equal. This includes pairs that are added during the call.
    fn propagate(&mut self, before: usize, keys: &Keys, choice: Choice) {
        let mut at = before;
        while let Some(&(x, y)) = self.found.get(at) {
            at += 1;
            let (a, b) = (self.a, self.b);
            for (ours, theirs) in a.sources[x].iter().zip(&b.sources[y]) {
                if let (Some(ours), Some(theirs)) = (ours, theirs)
                    && ours.port == theirs.port
                    && keys.0[ours.layer] == keys.1[theirs.layer]
                {
                    self.pair(ours.layer, theirs.layer);
                }
            }
            let ours = self.side(Side::A).free_readers(x, &keys.0);
            if ours.is_empty() {
                continue;
            }
            let theirs = self.side(Side::B).free_readers(y, &keys.1);
            for (key, mut ours) in ours {
                let Some(theirs) = theirs.get(&key) else { continue };
                match choice {
                    Choice::Unique if ours.len() > 1 || theirs.len() > 1 => continue,
                    Choice::InOrder if ours.len() != theirs.len() => continue,
                    _ => {}
                }
                if ours.len() > 1 {
                    let name = |layer: usize| b.layers[layer].name();
                    let named: HashMap<&str, usize> = theirs.iter().map(|&y| (name(y), y)).collect();
                    let same = ours.iter().filter_map(|&x| Some((x, *named.get(a.layers[x].name())?)));
                    same.collect::<Vec<_>>().into_iter().for_each(|(x, y)| self.pair(x, y));
                }
                ours.retain(|&x| self.of_a[x].is_none());
                let left: Vec<usize> = theirs.iter().copied().filter(|&y| self.of_b[y].is_none()).collect();
                ours.into_iter().zip(left).for_each(|(x, y)| self.pair(x, y));
            }
        }
    }

    fn side(&self, side: Side) -> Matched<'_, 'g> {
        match side {
            Side::A => Matched { scope: self.a, of: &self.of_a, side },
            Side::B => Matched { scope: self.b, of: &self.of_b, side },
        }
    }

    /// Whether the nearest matched layers above `x` and `y` correspond in at least one pair, and also the
    /// nearest matched layers below them. A search without a result does not exclude a match.
    fn is_between_the_same(&self, x: usize, y: usize) -> bool {
        [Direction::Above, Direction::Below].into_iter().all(|direction| {
            let nearest = |side, layer| {
                let matched = self.side(side);
                matched.nearest(matched.beside(layer, direction), direction)
            };
            meet(nearest(Side::A, x), nearest(Side::B, y))
        })
    }

    /// Whether two inputs read corresponding values. If one of the layers that they read is unmatched,
    /// compares the nearest matched layers above.
    pub fn reads_the_same(&self, ours: Source, theirs: Source) -> bool {
        match (self.of_a[ours.layer], self.of_b[theirs.layer]) {
            (Some(y), Some(_)) => y == theirs.layer && ours.port == theirs.port,
            _ => {
                let above = |side, layer| self.side(side).nearest(vec![layer], Direction::Above);
                meet(above(Side::A, ours.layer), above(Side::B, theirs.layer))
            }
        }
    }
}

/// How to pair readers if several have the same key.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Choice {
    /// Pairs none of them.
    Unique,
    /// If a key has equally many readers in both graphs, pairs readers with the same name, then the others in
    /// order.
    InOrder,
}
