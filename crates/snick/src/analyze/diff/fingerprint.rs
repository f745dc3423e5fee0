//! For each layer, hashes of the layers that depend on it, and of the layers around it.

use super::layer::hash_of;
use super::scope::Scope;

/// For each layer, hashes the layer and everything that is computed from its outputs. A Result is represented
/// by its label; a Result without a label is ignored.
pub(super) fn down(scope: &Scope, labels: &[Option<u64>]) -> Vec<u64> {
    let mut down = vec![0; scope.len()];
    let mut ends = vec![None; scope.len()];
    for (&end, &label) in scope.results.iter().zip(labels) {
        ends[end] = Some(label);
    }
    for layer in (0..scope.len()).rev() {
        let counted = scope.readers[layer].iter().filter(|reader| ends[reader.layer] != Some(None));
        let mut reads: Vec<_> =
            counted.map(|reader| (down[reader.layer], reader.input, reader.port)).collect();
        reads.sort_unstable();
        down[layer] = hash_of((scope.locals[layer], ends[layer].flatten(), reads));
    }
    down
}

/// For each radius from 0 to `radius`, hashes each layer together with all layers at a distance of at most
/// this number of edges.
pub(super) fn neighbourhoods(scope: &Scope, radius: usize) -> Vec<Vec<u64>> {
    let mut rounds: Vec<Vec<u64>> = vec![scope.locals.clone()];
    for _ in 0..radius {
        let last = &rounds[rounds.len() - 1];
        let next = (0..scope.len()).map(|layer| {
            let mut reads: Vec<_> = scope.readers[layer]
                .iter()
                .map(|reader| (last[reader.layer], reader.input, reader.port))
                .collect();
            reads.sort_unstable();
            let sources = scope.sources[layer].iter();
            let sources: Vec<_> = sources.map(|source| source.map(|s| (last[s.layer], s.port))).collect();
            hash_of((last[layer], sources, reads))
        });
        let next = next.collect();
        rounds.push(next);
    }
    rounds
}
