//! Proofs of problems, and certificates as JSON: what is valid is accepted, and nothing else.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use snick_certificate::{
    Answer, BodyProblem, Certificate, CertificateStep, Combination, Equalities, Guide, Label, Lemma, Node,
    Poly, Problem, Proof, Recorded, Size, Value,
};

use crate::support::{ANY, Builder, ints, node, output};

/// A problem with a true claim, a false one, and a proof of the true one.
fn two_claims() -> (Problem, Proof) {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let old = builder.slice(data, 0, 2, 3);
    let all = builder.slice(data, 0, 1, 5);
    let new = builder.slice(all, 0, 1, 3);
    let wrong = builder.slice(all, 0, 2, 3);
    let (mut problem, proof) = builder.problem(old, new);
    problem.claims.push((old, wrong));
    (problem, proof)
}

fn certificate(proof: Proof) -> Certificate {
    let label = Label { name: "rule".into(), op: "Slice".into(), layer: "a\"b".into() };
    let step = |proof| CertificateStep { labels: vec![label.clone()], proof };
    Certificate { models: vec!["0a".into(), "1b".into()], steps: vec![step(Some(proof)), step(None)] }
}

#[test]
fn a_proof_proves_its_claims_only() {
    let (problem, proof) = two_claims();
    assert_eq!(proof.check(&problem), Ok(()));
    for claims in [vec![1], vec![0, 1], vec![2], vec![usize::MAX]] {
        assert!(Proof { claims, ..proof.clone() }.check(&problem).is_err());
    }
    let none = Proof::default();
    assert_eq!(none.check(&problem), Ok(()));
    assert!(Proof { claims: vec![0], ..none }.check(&problem).is_err());
}

#[test]
fn answers_must_be_right_and_complete() {
    let (problem, proof) = two_claims();
    let check = |answers: Vec<Answer>| {
        let lemmas = vec![Lemma { answers, ..proof.lemmas[0].clone() }];
        Proof { lemmas, ..proof.clone() }.check(&problem).is_ok()
    };
    let answers = proof.lemmas[0].answers.clone();
    assert!(!answers.is_empty() && check(answers.clone()));
    for at in 0..answers.len() {
        assert!(!check(answers[..at].to_vec()));
        let Answer::Holds(combination) = answers[at].clone() else { continue };
        for wrong in [
            Answer::Holds(Combination::default()),
            Answer::Fails(combination.clone()),
            Answer::Holds(Combination(combination.0[1..].to_vec())),
            Answer::Unknown,
            Answer::Split,
        ] {
            let mut answers = answers.clone();
            answers[at] = wrong;
            assert!(!check(answers));
        }
    }
    assert!(!check([answers.as_slice(), &[Answer::Unknown]].concat()));
}

/// A lemma starts from a value of the first graph, since only those are known to exist.
#[test]
fn lemmas_start_in_the_first_graph() {
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let old = builder.slice(data, 0, 0, 4);
    let shape = builder.list(&[4]);
    // This value exists for size 4 only.
    let new = builder.op("Reshape", &[data, shape], &[], &[Size::Int(4)]);
    assert!(!builder.is_proved(old, new));
    let (mut problem, proof) = builder.problem(new, old);
    assert_eq!(proof.check(&problem), Ok(()));
    assert_eq!(problem.nodes_before(), [data.node, shape.node, new.node].into());
    problem.claims = vec![(old, new)];
    assert!(proof.check(&problem).is_err());
    // An equality of a value and itself proves nothing, and may be stated of any value.
    let lemmas = vec![Lemma { before: new, after: new, answers: Vec::new() }];
    assert!(Proof { lemmas: lemmas.clone(), ..proof.clone() }.check(&problem).is_err());
    assert_eq!(Proof { lemmas, ..Proof::default() }.check(&problem), Ok(()));
}

#[test]
fn values_that_are_not_there_are_refused() {
    let (problem, proof) = two_claims();
    for value in [
        Value { node: 99, port: 0 },
        Value { node: usize::MAX, port: usize::MAX },
        Value { node: 1, port: 1 },
    ] {
        for (before, after) in [(value, proof.lemmas[0].after), (proof.lemmas[0].before, value)] {
            let lemmas = vec![Lemma { before, after, answers: Vec::new() }];
            assert!(Proof { lemmas, ..proof.clone() }.check(&problem).is_err());
        }
    }
}

/// A problem whose claim needs equal bodies, and the number of the proof's lemmas.
fn with_bodies() -> (Problem, Proof) {
    let (mut body, inner) = two_claims();
    body.claims.truncate(1);
    let mut builder = Builder::default();
    let data = builder.input("f32", &[ANY]);
    let [before, after] = [3, 4].map(|body| {
        let op = Node { bodies: vec![body], ..node("Loop", &[data], &[]) };
        builder.push(op, vec![output("f32", &[ANY])])
    });
    let bodies = vec![BodyProblem { before: 3, after: 4, problem: body }];
    let problem = Problem { graph: builder.graph, claims: vec![(before, after)], bodies };
    (problem, Proof { bodies: vec![(0, inner)], claims: vec![0], ..Proof::default() })
}

#[test]
fn layers_with_equal_bodies_are_equal() {
    let (problem, proof) = with_bodies();
    assert_eq!(proof.check(&problem), Ok(()));
    let inner = &proof.bodies[0].1;
    let bodies = [
        vec![],
        vec![(1, inner.clone())],
        vec![(0, Proof { claims: vec![], ..inner.clone() })],
        vec![(0, Proof { claims: vec![0, 0], ..inner.clone() })],
        vec![(0, Proof { lemmas: vec![], ..inner.clone() })],
    ];
    for bodies in bodies {
        assert!(Proof { bodies, ..proof.clone() }.check(&problem).is_err());
    }
    let mut other = problem.clone();
    other.bodies[0].after = 5;
    assert!(proof.check(&other).is_err());
}

#[test]
fn nesting_is_bounded() {
    let nest = |depth: usize| {
        (0..depth).fold((Problem::default(), Proof::default()), |(problem, proof), _| {
            let bodies = vec![BodyProblem { before: 0, after: 1, problem }];
            (Problem { bodies, ..Problem::default() }, Proof { bodies: vec![(0, proof)], ..Proof::default() })
        })
    };
    let (problem, proof) = nest(16);
    assert_eq!(proof.check(&problem), Ok(()));
    let (problem, proof) = nest(17);
    assert!(proof.check(&problem).is_err());
    let text = certificate(nest(200).1).to_json();
    assert!(Certificate::from_json(&text).is_err());
}

/// Questions without an end, such as those of a graph with a cycle, end with an error.
#[test]
fn cycles_are_refused() {
    for (op, dims) in [("Identity", Size::Int(2)), ("slice", ANY), ("Abs", ANY), ("Concat", ANY)] {
        let mut builder = Builder::default();
        let output = output("f32", &[dims]);
        let data = builder.push(Node { is_unique: true, ..Node::default() }, vec![output.clone()]);
        let attributes = [("axes", ints(&[0])), ("axis", snick_certificate::Attribute::from(0))];
        let next = Value { node: 2, port: 0 };
        builder.typed(op, &[next], &attributes, output.clone());
        builder.typed(op, &[Value { node: 1, port: 0 }, next], &attributes, output);
        assert!(!builder.is_proved(data, next));
    }
    let mut builder = Builder::default();
    let value = Value { node: 0, port: 0 };
    builder.input("f32", &[Size::Dim(value, 0)]);
    let other = builder.input("f32", &[Size::Dim(value, 0)]);
    assert!(!builder.is_proved(value, other));
}

struct Always(Answer);

impl Guide for Always {
    fn answer(&mut self, _: &[Poly], _: &Poly, _: bool) -> Answer {
        self.0.clone()
    }
}

#[test]
fn a_guide_that_always_splits_comes_to_an_end() {
    let mut builder = Builder::default();
    let [a, b] = [(); 2].map(|()| builder.input("f32", &[ANY]));
    let axis = [("axis", snick_certificate::Attribute::from(0))];
    let [ab, ba] = [[a, b, a, b], [b, a, b, a]].map(|inputs| builder.op("Concat", &inputs, &axis, &[ANY]));
    for answer in [Answer::Split, Answer::Unknown, Answer::Holds(Combination::default())] {
        assert!(Equalities::new(&builder.graph, []).prove(ab, ba, &mut Always(answer)).is_err());
    }
}

#[test]
fn json_contains_everything() {
    let (_, proof) = with_bodies();
    let answers = vec![
        Answer::Split,
        Answer::Unknown,
        Answer::Holds(Combination(vec![(i64::MAX, vec![0, 0, usize::MAX]), (-1, vec![])])),
        Answer::Fails(Combination(vec![(i64::MIN, vec![7])])),
    ];
    let lemma =
        Lemma { before: Value { node: 1, port: 2 }, after: Value { node: usize::MAX, port: 0 }, answers };
    let certificate = certificate(Proof { lemmas: vec![lemma], ..proof });
    let text = certificate.to_json();
    assert_eq!(Certificate::from_json(&text), Ok(certificate.clone()));
    assert_eq!(Certificate::from_json(&Certificate::default().to_json()), Ok(Certificate::default()));
    let json: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "snick.certificate/1");
    assert_eq!(json["models"], json!(["0a", "1b"]));
    assert_eq!(json["steps"][0]["labels"], json!([{"name": "rule", "op": "Slice", "layer": "a\"b"}]));
    assert_eq!(json["steps"][1]["proof"], json!(null));
    let proof = &json["steps"][0]["proof"];
    assert_eq!(proof["claims"], json!([0]));
    let lemma = &proof["lemmas"][0];
    assert_eq!((&lemma["before"], &lemma["after"]), (&json!([1, 2]), &json!([usize::MAX, 0])));
    let holds = json!({"holds": [[i64::MAX, [0, 0, usize::MAX]], [-1, []]]});
    let fails = json!({"fails": [[i64::MIN, [7]]]});
    assert_eq!(lemma["answers"], json!(["split", "unknown", holds, fails]));
    assert_eq!(proof["bodies"][0][0], json!(0));
}

/// FNV-1a of 128 bits: <https://datatracker.ietf.org/doc/draft-eastlake-fnv/>.
#[test]
fn digests_are_those_of_the_specification() {
    assert_eq!(snick_certificate::digest(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    assert_eq!(snick_certificate::digest(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    assert_eq!(snick_certificate::digest(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
}

/// All values inside a JSON value, by JSON pointer.
fn pointers(json: &Json, at: &str, all: &mut Vec<String>) {
    all.push(at.to_string());
    match json {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| pointers(item, &format!("{at}/{i}"), all))
        }
        Json::Object(members) => {
            members.iter().for_each(|(name, item)| pointers(item, &format!("{at}/{name}"), all))
        }
        _ => {}
    }
}

#[test]
fn every_damage_of_the_json_is_refused() {
    let certificate = certificate(with_bodies().1);
    let json: Json = serde_json::from_str(&certificate.to_json()).unwrap();
    let mut all = Vec::new();
    pointers(&json, "", &mut all);
    let replacements = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1),
        json!(0.5),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("unknown"),
        json!("holds"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"holds": []}),
        json!({"fails": 1}),
    ];
    for pointer in all {
        for replacement in &replacements {
            let mut damaged = json.clone();
            let old = std::mem::replace(damaged.pointer_mut(&pointer).unwrap(), replacement.clone());
            let is_same = old == *replacement;
            assert_eq!(
                Certificate::from_json(&damaged.to_string()).is_ok(),
                is_same,
                "{pointer} {replacement}"
            );
        }
        if let Some(Json::Object(members)) = json.pointer(&pointer) {
            for name in members.keys() {
                let mut damaged = json.clone();
                damaged.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(name);
                assert!(Certificate::from_json(&damaged.to_string()).is_err());
            }
            let mut damaged = json.clone();
            damaged.pointer_mut(&pointer).unwrap()["more"] = json!(0);
            assert!(Certificate::from_json(&damaged.to_string()).is_err());
        }
        if let Some(Json::Array(_)) = json.pointer(&pointer) {
            let mut damaged = json.clone();
            damaged.pointer_mut(&pointer).unwrap().as_array_mut().unwrap().push(json!(0));
            assert!(Certificate::from_json(&damaged.to_string()).is_err());
        }
    }
    for text in ["", "{", "[]", "1", "null", "{\"schema\":\"snick.certificate/2\"}"] {
        assert!(Certificate::from_json(text).is_err());
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Certificate::from_json(&deep).is_err());
}

fn answer() -> impl Strategy<Value = Answer> {
    let term = (any::<i64>().prop_map(|factor| factor % 4), prop::collection::vec(0_usize..12, 0..3));
    let sum = prop::collection::vec(term, 0..5).prop_map(Combination);
    prop_oneof![
        sum.clone().prop_map(Answer::Holds),
        sum.prop_map(Answer::Fails),
        Just(Answer::Split),
        Just(Answer::Unknown),
    ]
}

proptest! {
    /// Whatever the answers are, the false claim is not accepted.
    #[test]
    fn no_answers_prove_a_false_claim(
        answers in prop::collection::vec(answer(), 0..12),
        kept in 0_usize..8,
        nodes in prop::array::uniform2(0_usize..6),
    ) {
        let (problem, proof) = two_claims();
        let kept = &proof.lemmas[0].answers[..kept.min(proof.lemmas[0].answers.len())];
        let answers = [kept, answers.as_slice()].concat();
        let [before, after] = nodes.map(|node| Value { node, port: 0 });
        let lemma = Lemma { before, after, answers: answers.clone() };
        for lemmas in [vec![lemma.clone()], vec![proof.lemmas[0].clone(), lemma]] {
            let wrong = Proof { lemmas, claims: vec![1], ..Proof::default() };
            prop_assert!(wrong.check(&problem).is_err());
        }
        let mut recorded = Recorded::new(&answers);
        let (old, wrong) = problem.claims[1];
        prop_assert!(Equalities::new(&problem.graph, []).prove(old, wrong, &mut recorded).is_err());
    }
}
