//! Certificates as files.

use serde_json::{Value as Json, json};

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
        let certificate = Self {
            models: list(&json["models"], |model| Some(model.as_str()?.to_string()))?,
            steps: list(&json["steps"], step)?,
        };
        // Nothing is left out and nothing is ignored.
        let mut content = certificate.content();
        content["digest"] = json!(certificate.digest());
        if content != json {
            return Err("the certificate is damaged: its content does not match its digest".to_string());
        }
        Ok(certificate)
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

fn answer_json(answer: &Answer) -> Json {
    let sum = |combination: &Combination| -> Vec<Json> {
        combination.0.iter().map(|(factor, product)| json!([factor, product])).collect()
    };
    match answer {
        Answer::Holds(combination) => json!({ "holds": sum(combination) }),
        Answer::Fails(combination) => json!({ "fails": sum(combination) }),
        Answer::Split => json!("split"),
        Answer::Unknown => json!("unknown"),
    }
}

fn list<T>(json: &Json, item: impl Fn(&Json) -> Option<T>) -> Result<Vec<T>, String> {
    let items = json.as_array().and_then(|items| items.iter().map(item).collect());
    items.ok_or_else(|| "an entry is missing or has the wrong type".to_string())
}

fn step(json: &Json) -> Option<CertificateStep> {
    let text = |json: &Json, key: &str| Some(json[key].as_str()?.to_string());
    let label = |json: &Json| {
        Some(Label { name: text(json, "name")?, op: text(json, "op")?, layer: text(json, "layer")? })
    };
    let proof = if json["proof"].is_null() { None } else { Some(proof(&json["proof"])?) };
    Some(CertificateStep { labels: list(&json["labels"], label).ok()?, proof })
}

fn proof(json: &Json) -> Option<Proof> {
    let number = |json: &Json| usize::try_from(json.as_u64()?).ok();
    let value = |json: &Json| Some(Value { node: number(&json[0])?, port: number(&json[1])? });
    let lemma = |json: &Json| {
        Some(Lemma {
            before: value(&json["before"])?,
            after: value(&json["after"])?,
            answers: list(&json["answers"], answer).ok()?,
        })
    };
    Some(Proof {
        lemmas: list(&json["lemmas"], lemma).ok()?,
        // The parser bounds the nesting depth.
        bodies: list(&json["bodies"], |json| Some((number(&json[0])?, proof(&json[1])?))).ok()?,
        claims: list(&json["claims"], number).ok()?,
    })
}

fn answer(json: &Json) -> Option<Answer> {
    let number = |json: &Json| usize::try_from(json.as_u64()?).ok();
    let term = |json: &Json| Some((json[0].as_i64()?, list(&json[1], number).ok()?));
    let sum = |json: &Json| Some(Combination(list(json, term).ok()?));
    match json.as_str() {
        Some("split") => Some(Answer::Split),
        Some("unknown") => Some(Answer::Unknown),
        Some(_) => None,
        None if json["holds"].is_array() => sum(&json["holds"]).map(Answer::Holds),
        None => sum(&json["fails"]).map(Answer::Fails),
    }
}
