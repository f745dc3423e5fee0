//! The mesh as the partitioner sees it. Each mesh axis is split into sub-axes of prime size, called `parts`
//! in the code. A dim can be sharded over any subset of these sub-axes.

use crate::stablehlo::mesh::Mesh;

/// For each dim of a value, the sub-axes over which the dim is sharded, outermost first.
pub(super) type Spread = Vec<Vec<usize>>;

/// The sub-axes of all mesh axes.
pub(super) struct Devices {
    /// The mesh axis and the size of each sub-axis.
    parts: Vec<(usize, usize)>,
    names: Vec<String>,
}

impl Devices {
    pub(super) fn of(mesh: &Mesh) -> Self {
        let mut parts = Vec::new();
        for (axis, (_, size)) in mesh.axes().iter().enumerate() {
            parts.extend(primes(*size).into_iter().map(|prime| (axis, prime)));
        }
        Self { parts, names: mesh.axes().iter().map(|(name, _)| name.clone()).collect() }
    }

    /// The product of the sizes of these sub-axes, that is, the number of shards of a dim sharded over them.
    pub(super) fn count(&self, parts: &[usize]) -> usize {
        parts
            .iter()
            .filter_map(|&part| self.parts.get(part))
            .fold(1, |all, (_, size)| all.saturating_mul(*size))
    }

    /// All sub-axes of the mesh axis with this name.
    pub(super) fn parts_of(&self, name: &str) -> Vec<usize> {
        let axis = self.names.iter().position(|own| own == name);
        (0..self.parts.len()).filter(|&part| Some(self.parts[part].0) == axis).collect()
    }

    /// The number of elements of a value that a device holds, including padding at the end of each dim.
    pub(super) fn elements(&self, dims: &[usize], spread: &Spread) -> usize {
        let local = |(dim, size): (usize, &usize)| {
            size.div_ceil(spread.get(dim).map_or(1, |parts| self.count(parts)))
        };
        dims.iter().enumerate().map(local).fold(1, usize::saturating_mul)
    }

    /// The sharding over whole mesh axes only. In each dim, drops the first sub-axis that belongs to a
    /// partially used mesh axis, and all sub-axes after it. Arguments and results cannot be sharded over a
    /// part of a mesh axis.
    pub(super) fn whole_axes(&self, spread: &Spread) -> Spread {
        let of_dim = |parts: &Vec<usize>| {
            let count = |axis: usize, among: &mut dyn Iterator<Item = usize>| {
                among.filter(|&part| self.parts[part].0 == axis).count()
            };
            let is_whole = |part: &usize| {
                let axis = self.parts[*part].0;
                count(axis, &mut parts.iter().copied()) == count(axis, &mut (0..self.parts.len()))
            };
            parts.iter().copied().take_while(is_whole).collect()
        };
        spread.iter().map(of_dim).collect()
    }

    /// The names of the mesh axes for each dim.
    pub(super) fn axes(&self, spread: &Spread) -> Vec<Vec<String>> {
        let of_dim = |parts: &Vec<usize>| {
            let mut axes: Vec<usize> = parts.iter().map(|&part| self.parts[part].0).collect();
            axes.dedup();
            axes.into_iter().map(|axis| self.names[axis].clone()).collect()
        };
        spread.iter().map(of_dim).collect()
    }
}

fn primes(mut number: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut prime = 2;
    while number > 1 {
        if prime * prime > number {
            prime = number;
        }
        while number.is_multiple_of(prime) {
            found.push(prime);
            number /= prime;
        }
        prime += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_prime_parts() {
        assert_eq!(primes(12), [2, 2, 3]);
        assert_eq!(primes(7), [7]);
        let devices = Devices::of(&"a=4,b=3".parse().unwrap());
        assert_eq!((devices.parts_of("a"), devices.parts_of("b")), (vec![0, 1], vec![2]));
        assert_eq!(devices.elements(&[8, 7], &vec![vec![0, 1], vec![2]]), 6);
        assert_eq!(devices.whole_axes(&vec![vec![2, 0], vec![]]), [vec![2], vec![]]);
        let whole = vec![vec!["a".to_string(), "b".to_string()], vec![]];
        assert_eq!(devices.axes(&vec![vec![0, 1, 2], vec![]]), whole);
    }
}
