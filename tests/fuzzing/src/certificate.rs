//! Certificates: whatever an input says, no false claim is proved.

use snick_certificate::{
    Answer, Attribute, Certificate, Combination, Graph, Lemma, Node, Output, Problem, Proof, Size, Value,
};

use crate::oracle::Finding;

/// Checks that an input proves no false claim of a small problem, neither as the JSON of a certificate nor as
/// a proof whose numbers are the bytes. Returns whether it is a certificate.
pub(crate) fn check_certificate(bytes: &[u8]) -> Result<bool, Finding> {
    let problem = problem();
    let certificate = std::str::from_utf8(bytes).ok().and_then(|text| Certificate::from_json(text).ok());
    let proofs =
        certificate.iter().flat_map(|certificate| &certificate.steps).filter_map(|step| step.proof.clone());
    for mut proof in proofs.chain([proof(&mut bytes.iter().copied())]) {
        // A proof of anything is also tried as a proof of the false claim.
        proof.claims = vec![1];
        if proof.check(&problem).is_ok() {
            return Err(Finding::new("certificate", format!("a false claim is proved by {proof:?}")));
        }
    }
    Ok(certificate.is_some())
}

/// A problem with two claims about elements of a vector of any size. The first is true and the second is
/// false.
fn problem() -> Problem {
    let output = |size| Output { element_type: "f32".into(), dims: Some(vec![size]), integers: None };
    let value = |node| Value { node, port: 0 };
    let data = Node { outputs: vec![output(Size::Any(0, None))], is_unique: true, ..Node::default() };
    let slice = |input, start, len| Node {
        op: "slice".into(),
        attributes: [("axes", 0), ("start", start), ("len", len), ("step", 1)]
            .map(|(name, int)| (name.to_string(), Attribute::from(vec![int])))
            .into(),
        inputs: vec![Some(value(input))],
        outputs: vec![output(Size::Int(len))],
        ..Node::default()
    };
    let joined = Node {
        op: "Concat".into(),
        attributes: [("axis".to_string(), Attribute::from(0))].into(),
        inputs: vec![Some(value(1)), Some(value(2))],
        outputs: vec![output(Size::Any(0, None))],
        ..Node::default()
    };
    let nodes = vec![data, slice(0, 1, 2), slice(0, 3, 2), slice(0, 1, 4), joined, slice(0, 2, 4)];
    Problem {
        graph: Graph { nodes },
        claims: vec![(value(3), value(4)), (value(5), value(4))],
        ..Problem::default()
    }
}

/// A proof whose numbers are bytes.
fn proof(bytes: &mut impl Iterator<Item = u8>) -> Proof {
    let mut next = || usize::from(bytes.next().unwrap_or(0));
    let mut lemmas = Vec::new();
    for _ in 0..=next() % 3 {
        let [before, after] = [0; 2].map(|_| Value { node: next() % 7, port: next() / 255 });
        let count = next() % 24;
        let answer = |_| {
            let kind = next() % 4;
            let sum =
                (0..next() % 5).map(|_| (next() as i64 - 8, (0..next() % 3).map(|_| next() % 16).collect()));
            let sum = Combination(sum.collect());
            match kind {
                0 => Answer::Holds(sum),
                1 => Answer::Fails(sum),
                2 => Answer::Split,
                _ => Answer::Unknown,
            }
        };
        lemmas.push(Lemma { before, after, answers: (0..count).map(answer).collect() });
    }
    Proof { lemmas, ..Proof::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_prove_nothing() {
        let mut state = 1_u64;
        for length in 0..2000 {
            let bytes: Vec<u8> = (0..length % 300)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            assert!(matches!(check_certificate(&bytes), Ok(false)));
        }
    }

    #[test]
    fn the_false_claim_is_not_a_claim_that_is_always_refused() {
        let mut problem = problem();
        let proof = Proof { claims: vec![1], ..Proof::default() };
        assert!(proof.check(&problem).is_err());
        problem.claims[1] = (Value { node: 4, port: 0 }, Value { node: 4, port: 0 });
        assert!(proof.check(&problem).is_ok());
    }
}
