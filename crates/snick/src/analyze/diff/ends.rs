//! Matches the inputs and outputs of two models, and the Parameters and Results of bodies. All of these are
//! called ends.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::layer::hash_of;
use super::scope::Scope;

/// Pairs of corresponding ends in both graphs, as indices in file order.
pub(super) type Pairs = Vec<(usize, usize)>;

/// Matches inputs by name, or by position if this makes more layers equal. Names are not reliable: many
/// exporters generate them, so another input may have the name in the next export.
pub(super) fn parameters(a: &Scope, b: &Scope) -> Pairs {
    let keys = |scope: &Scope| scope.parameters.iter().map(|&end| scope.locals[end]).collect::<Vec<_>>();
    let keys = (keys(a), keys(b));
    let mut by_order = Correspondence::new(a.parameters.len(), b.parameters.len());
    by_order.align(&keys.0, &keys.1);
    let mut by_name = Correspondence::new(a.parameters.len(), b.parameters.len());
    by_name.name(&names(a, &a.parameters), &names(b, &b.parameters));
    by_name.align(&keys.0, &keys.1);
    let (by_order, by_name) = (by_order.pairs(), by_name.pairs());
    if by_order == by_name || agreement(a, b, &by_name) >= agreement(a, b, &by_order) {
        by_name
    } else {
        by_order
    }
}

/// Matches outputs that are computed in the same way, then outputs of the same name, then outputs at the same
/// position.
pub(super) fn results(a: &Scope, b: &Scope, up_a: &[u64], up_b: &[u64]) -> Pairs {
    let mut found = Correspondence::new(a.results.len(), b.results.len());
    let computed = |scope: &Scope, up: &[u64]| scope.results.iter().map(|&end| up[end]).collect::<Vec<_>>();
    let names = (names(a, &a.results), names(b, &b.results));
    let (up_a, up_b) = (computed(a, up_a), computed(b, up_b));
    found.name_within(&names.0, &names.1, &up_a, &up_b);
    found.group(&up_a, &up_b);
    found.name(&names.0, &names.1);
    let keys = |scope: &Scope| {
        let source = |end: &usize| scope.sources[*end].first().copied().flatten();
        let key = |end| hash_of(source(end).map(|source| (scope.locals[source.layer], source.port)));
        scope.results.iter().map(key).collect::<Vec<_>>()
    };
    found.align(&keys(a), &keys(b));
    found.pairs()
}

/// Matches the ends of bodies by label, then by position.
pub(super) fn of_body(labels_a: &[u64], labels_b: &[u64]) -> Pairs {
    let mut found = Correspondence::new(labels_a.len(), labels_b.len());
    found.group(labels_a, labels_b);
    let anything = |labels: &[u64]| vec![0; labels.len()];
    found.align(&anything(labels_a), &anything(labels_b));
    found.pairs()
}

/// Labels the ends of both graphs so that the two ends of a pair have the same label. Other ends have no
/// label.
pub(super) fn labels(pairs: &Pairs, a: usize, b: usize) -> (Vec<Option<u64>>, Vec<Option<u64>>) {
    let (mut ours, mut theirs) = (vec![None; a], vec![None; b]);
    for (label, &(x, y)) in (0..).zip(pairs) {
        (ours[x], theirs[y]) = (Some(label), Some(label));
    }
    (ours, theirs)
}

/// The number of layers that compute the same value if the inputs correspond as in `pairs`.
fn agreement(a: &Scope, b: &Scope, pairs: &Pairs) -> usize {
    let (ours, theirs) = labels(pairs, a.parameters.len(), b.parameters.len());
    let mut counts: HashMap<u64, usize> = HashMap::new();
    a.up(&ours).into_iter().for_each(|up| *counts.entry(up).or_default() += 1);
    let is_shared = |up: &u64| match counts.get_mut(up) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    b.up(&theirs).iter().copied().filter(is_shared).count()
}

/// The names of ends: tensor names, which users of the model know, followed by the name of the layer.
fn names<'s>(scope: &Scope<'s>, ends: &[usize]) -> Vec<Vec<&'s str>> {
    let names = |&end: &usize| {
        let tensors = scope.tensor_names(end).iter().map(String::as_str);
        tensors.chain([scope.layers[end].name()]).collect()
    };
    ends.iter().map(names).collect()
}

/// A matching of ends in progress.
struct Correspondence {
    of_a: Vec<Option<usize>>,
    of_b: Vec<Option<usize>>,
}

impl Correspondence {
    fn new(a: usize, b: usize) -> Self {
        Self { of_a: vec![None; a], of_b: vec![None; b] }
    }

    fn pair(&mut self, x: usize, y: usize) {
        if self.of_a[x].is_none() && self.of_b[y].is_none() {
            (self.of_a[x], self.of_b[y]) = (Some(y), Some(x));
        }
    }

    /// Pairs ends that share a name.
    fn name(&mut self, a: &[Vec<&str>], b: &[Vec<&str>]) {
        self.name_within(a, b, &vec![0; a.len()], &vec![0; b.len()]);
    }

    /// Pairs ends that share a name and a key.
    fn name_within(&mut self, a: &[Vec<&str>], b: &[Vec<&str>], keys_a: &[u64], keys_b: &[u64]) {
        let mut known: HashMap<(&str, u64), usize> = HashMap::new();
        for (y, names) in b.iter().enumerate().rev().filter(|(y, _)| self.of_b[*y].is_none()) {
            known.extend(names.iter().map(|&name| ((name, keys_b[y]), y)));
        }
        for (x, names) in a.iter().enumerate() {
            let found = names.iter().find_map(|&name| known.get(&(name, keys_a[x])));
            if let Some(&y) = found {
                self.pair(x, y);
            }
        }
    }

    /// Pairs ends that have the same key, in order.
    fn group(&mut self, a: &[u64], b: &[u64]) {
        let mut waiting = by_key(b.iter().copied(), &self.of_b);
        for (x, key) in a.iter().enumerate().filter(|(x, _)| self.of_a[*x].is_none()).collect::<Vec<_>>() {
            if let Some(y) = waiting.get_mut(key).and_then(VecDeque::pop_front) {
                self.pair(x, y);
            }
        }
    }

    /// Pairs the remaining ends in order. If the graphs have different numbers of remaining ends, pairs only
    /// ends with the same key.
    fn align(&mut self, a: &[u64], b: &[u64]) {
        let free = |of: &[Option<usize>]| (0..of.len()).filter(|&end| of[end].is_none()).collect::<Vec<_>>();
        let (free_a, free_b) = (free(&self.of_a), free(&self.of_b));
        if free_a.len() == free_b.len() {
            free_a.into_iter().zip(free_b).for_each(|(x, y)| self.pair(x, y));
            return;
        }
        let mut waiting = by_key(b.iter().copied(), &self.of_b);
        let mut next = 0;
        for x in free_a {
            let Some(waiting) = waiting.get_mut(&a[x]) else { continue };
            let found = std::iter::from_fn(|| waiting.pop_front()).find(|&y| y >= next);
            if let Some(y) = found {
                self.pair(x, y);
                next = y + 1;
            }
        }
    }

    fn pairs(self) -> Pairs {
        self.of_a.into_iter().enumerate().filter_map(|(x, y)| Some((x, y?))).collect()
    }
}

/// The unpaired ends of each key, in order.
fn by_key<K: Hash + Eq>(
    keys: impl Iterator<Item = K>,
    paired: &[Option<usize>],
) -> HashMap<K, VecDeque<usize>> {
    let mut ends: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (end, key) in keys.enumerate().filter(|(end, _)| paired[*end].is_none()) {
        ends.entry(key).or_default().push_back(end);
    }
    ends
}
