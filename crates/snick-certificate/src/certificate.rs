//! Certificates as files.

use serde_json::{Value as Json, from_value, json};

use crate::answer::{Answer, Combination};
use crate::graph::Value;
use crate::problem::{Lemma, Proof};

/// The name and version of the format.
const SCHEMA: &str = "snick.certificate/1";

/// What was proved about one model, or about two.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certificate {
    /// Digests of the models, in lower case hexadecimal.
    pub models: Vec<String>,
    /// The steps: rewrites in the order in which they are applied, or the comparison of two models.
    pub steps: Vec<CertificateStep>,
}

/// A step of a certificate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CertificateStep {
    /// What was established. These names do not affect the proof.
    pub labels: Vec<Label>,
    /// The proof; `None` if there is none.
    pub proof: Option<Proof>,
}

/// The name of something that was established.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The name of the rule, or of the output.
    pub name: String,
    /// The operation type of the changed layer.
    pub op: String,
    /// The name of the changed layer.
    pub layer: String,
}

impl Certificate {
    /// The certificate as JSON text.
    pub fn to_json(&self) -> String {
        let mut json = self.content();
        json["digest"] = json!(self.digest());
        format!("{json}\n")
    }

    /// Reads a certificate. The digest of the content detects accidental damage. It does not protect against
    /// forgery: only checking every step does.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if json["schema"] != SCHEMA {
            return Err(format!("the schema is not {SCHEMA}"));
        }
        let damaged = || "the certificate is damaged: its content does not match its digest".to_string();
        let certificate = Self::from_content(&json).ok_or_else(damaged)?;
        // Nothing is left out and nothing is ignored.
        let mut content = certificate.content();
        content["digest"] = json!(certificate.digest());
        if content == json { Ok(certificate) } else { Err(damaged()) }
    }

    fn from_content(json: &Json) -> Option<Self> {
        Some(Self { models: from_value(json["models"].clone()).ok()?, steps: list(&json["steps"], step)? })
    }

    fn content(&self) -> Json {
        let steps: Vec<Json> = self.steps.iter().map(step_json).collect();
        json!({ "schema": SCHEMA, "models": self.models, "steps": steps })
    }

    /// FNV-1a of the content, with 128 bits.
    fn digest(&self) -> String {
        format!("{:032x}", digest(self.content().to_string().as_bytes()))
    }
}

/// FNV-1a with 128 bits.
pub fn digest(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

fn step_json(step: &CertificateStep) -> Json {
    let label = |label: &Label| json!({ "name": label.name, "op": label.op, "layer": label.layer });
    let labels: Vec<Json> = step.labels.iter().map(label).collect();
    json!({ "labels": labels, "proof": step.proof.as_ref().map(proof_json) })
}

fn step(json: &Json) -> Option<CertificateStep> {
    let label = |json: &Json| {
        let text = |name: &str| from_value(json[name].clone()).ok();
        Some(Label { name: text("name")?, op: text("op")?, layer: text("layer")? })
    };
    let proof = if json["proof"].is_null() { None } else { Some(proof(&json["proof"])?) };
    Some(CertificateStep { labels: list(&json["labels"], label)?, proof })
}

fn proof_json(proof: &Proof) -> Json {
    let value = |value: Value| json!([value.node, value.port]);
    let lemma = |lemma: &Lemma| {
        let answers: Vec<Json> = lemma.answers.iter().map(answer_json).collect();
        json!({ "before": value(lemma.before), "after": value(lemma.after), "answers": answers })
    };
    json!({
        "lemmas": proof.lemmas.iter().map(lemma).collect::<Vec<_>>(),
        "bodies": proof.bodies.iter().map(|(number, proof)| json!([number, proof_json(proof)])).collect::<Vec<_>>(),
        "claims": proof.claims,
    })
}

fn proof(json: &Json) -> Option<Proof> {
    let value = |json: &Json| {
        let (node, port) = from_value(json.clone()).ok()?;
        Some(Value { node, port })
    };
    let lemma = |json: &Json| {
        let answers = list(&json["answers"], answer)?;
        Some(Lemma { before: value(&json["before"])?, after: value(&json["after"])?, answers })
    };
    Some(Proof {
        lemmas: list(&json["lemmas"], lemma)?,
        // The parser bounds the nesting depth.
        bodies: list(&json["bodies"], |json| Some((from_value(json[0].clone()).ok()?, proof(&json[1])?)))?,
        claims: from_value(json["claims"].clone()).ok()?,
    })
}

fn answer_json(answer: &Answer) -> Json {
    match answer {
        Answer::Holds(Combination(sum)) => json!({ "holds": sum }),
        Answer::Fails(Combination(sum)) => json!({ "fails": sum }),
        Answer::Split => json!("split"),
        Answer::Unknown => json!("unknown"),
    }
}

fn answer(json: &Json) -> Option<Answer> {
    match json.as_str() {
        Some("split") => Some(Answer::Split),
        Some("unknown") => Some(Answer::Unknown),
        Some(_) => None,
        None if json["holds"].is_array() => {
            Some(Answer::Holds(Combination(from_value(json["holds"].clone()).ok()?)))
        }
        None => Some(Answer::Fails(Combination(from_value(json["fails"].clone()).ok()?))),
    }
}

fn list<T>(json: &Json, item: impl Fn(&Json) -> Option<T>) -> Option<Vec<T>> {
    json.as_array()?.iter().map(item).collect()
}
