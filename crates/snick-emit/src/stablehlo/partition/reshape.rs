//! The factors of a reshape. The dims of both shapes are products of these factors.

use snick_ir::FactorKind;

use super::factors::Rule;

/// Visits both shapes from the outermost dim inwards. The next factor is the greatest common divisor of the
/// remaining sizes of the two current dims. If these sizes are coprime, factors belong to one side only,
/// until the products of the factors on both sides are equal again. For example, `[6, 2] -> [4, 3]` has the
/// common factor 2, which leaves 3 and 2.
pub(super) fn rule(x: &[usize], result: &[usize]) -> Option<Rule> {
    if x.contains(&0) || result.contains(&0) {
        return None;
    }
    let mut rule = Rule::default();
    let mut sides = [Side::new(x), Side::new(result)];
    loop {
        sides.iter_mut().for_each(Side::skip_ones);
        let [Some(own), Some(other)] = [sides[0].left(), sides[1].left()] else { break };
        let behind = match sides[0].passed.cmp(&sides[1].passed) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Less => Some(0),
            std::cmp::Ordering::Greater => Some(1),
        };
        let shared = gcd(own, other);
        match behind {
            None if shared > 1 => {
                rule.add(shared, FactorKind::PassThrough, [(0, sides[0].dim), (1, sides[1].dim)]);
                sides.iter_mut().for_each(|side| side.advance(shared));
            }
            None => {
                for (at, size) in [own, other].into_iter().enumerate() {
                    rule.add(size, FactorKind::PassThrough, [(at, sides[at].dim)]);
                    sides[at].advance(size);
                }
            }
            Some(at) => {
                let (left, ahead) = ([own, other][at], sides[1 - at].passed);
                let size = step(left, shared, sides[at].passed, ahead);
                rule.add(size, FactorKind::PassThrough, [(at, sides[at].dim)]);
                sides[at].advance(size);
            }
        }
    }
    for (at, side) in sides.iter_mut().enumerate() {
        while let Some(size) = side.left() {
            rule.add(size, FactorKind::PassThrough, [(at, side.dim)]);
            side.advance(size);
            side.skip_ones();
        }
    }
    Some(rule)
}

/// The next factor of the side whose product of factors is smaller: the factor that makes both products
/// equal, if the sizes allow it.
fn step(left: usize, shared: usize, passed: usize, ahead: usize) -> usize {
    if ahead.is_multiple_of(passed) && left.is_multiple_of(ahead / passed) {
        return ahead / passed;
    }
    if left > shared { left / shared } else { left }
}

/// The position in the dims of one side.
struct Side<'d> {
    dims: &'d [usize],
    dim: usize,
    /// The product of the factors of the current dim so far.
    done: usize,
    /// The product of all factors of this side so far.
    passed: usize,
}

impl<'d> Side<'d> {
    fn new(dims: &'d [usize]) -> Self {
        Self { dims, dim: 0, done: 1, passed: 1 }
    }

    fn skip_ones(&mut self) {
        while self.dims.get(self.dim) == Some(&1) {
            self.dim += 1;
        }
    }

    /// The remaining size of the current dim.
    fn left(&self) -> Option<usize> {
        self.dims.get(self.dim).map(|size| size / self.done)
    }

    fn advance(&mut self, factor: usize) {
        self.done *= factor;
        self.passed = self.passed.saturating_mul(factor);
        if self.dims.get(self.dim) == Some(&self.done) {
            self.dim += 1;
            self.done = 1;
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::rule;

    /// The size and the dims of each factor.
    fn factors(x: &[usize], result: &[usize]) -> Vec<(usize, Vec<(usize, usize)>)> {
        rule(x, result).unwrap().factors.into_iter().map(|factor| (factor.size, factor.places)).collect()
    }

    #[test]
    fn dims_are_split_and_merged() {
        let heads = factors(&[2, 5, 64], &[2, 5, 4, 16]);
        let expected = vec![
            (2, vec![(0, 0), (1, 0)]),
            (5, vec![(0, 1), (1, 1)]),
            (4, vec![(0, 2), (1, 2)]),
            (16, vec![(0, 2), (1, 3)]),
        ];
        assert_eq!(heads, expected);
        assert_eq!(factors(&[8, 1, 3], &[24]), [(8, vec![(0, 0), (1, 0)]), (3, vec![(0, 2), (1, 0)])]);
        assert_eq!(factors(&[1, 1], &[]), []);
    }

    #[test]
    fn what_is_cut_elsewhere_belongs_to_one_side() {
        // 4 and 3 are coprime, so the two sides share no factor.
        let factors = factors(&[4, 3], &[3, 4]);
        assert!(factors.iter().all(|(_, places)| places.len() == 1), "{factors:?}");
        assert_eq!(rule(&[0, 3], &[0]).map(|rule| rule.factors.len()), None);
    }
}
