//! Attributes by a table: for ops that have a dozen of them and infer from one or two.

use std::borrow::Cow;

use crate::attrs::AttrValue;
use crate::{Attrs, OpError};

/// What an attribute holds.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An integer.
    Int,
    /// A real number.
    Float,
    /// A truth value.
    Bool,
    /// A name.
    Text,
    /// Integers.
    Ints,
    /// Real numbers.
    Floats,
}

/// Attributes of an op: each name with its kind.
pub type Table = &'static [(&'static str, Kind)];

/// The attributes that a file gives, typed.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings(Attrs<'static>);

impl Settings {
    /// Reads the attributes of a table; absent ones stay absent.
    pub fn parse(
        attrs: &Attrs,
        table: impl IntoIterator<Item = &'static (&'static str, Kind)>,
    ) -> Result<Self, OpError> {
        let mut out = Attrs::new();
        for &(name, kind) in table {
            let value = match kind {
                Kind::Int => attrs.int(name)?.map(AttrValue::Int),
                Kind::Float => attrs.float(name)?.map(AttrValue::Float),
                Kind::Bool => attrs.bool(name)?.map(AttrValue::Bool),
                Kind::Text => attrs.text(name)?.map(|text| AttrValue::Text(Cow::Owned(text.to_string()))),
                Kind::Ints => attrs.ints(name)?.map(AttrValue::Ints),
                Kind::Floats => floats(attrs, name)?.map(AttrValue::Floats),
            };
            if let Some(value) = value {
                out.push(Cow::Borrowed(name), value);
            }
        }
        Ok(Self(out))
    }

    /// As attributes.
    pub fn attrs(&self) -> Attrs<'static> {
        self.0.clone()
    }

    /// An integer, or what it is where it is absent.
    pub fn int(&self, name: &'static str, default: i64) -> i64 {
        self.0.int(name).ok().flatten().unwrap_or(default)
    }

    /// A real number, or what it is where it is absent.
    pub fn float(&self, name: &'static str, default: f64) -> f64 {
        self.0.float(name).ok().flatten().unwrap_or(default)
    }

    /// A truth value, or what it is where it is absent.
    pub fn bool(&self, name: &'static str, default: bool) -> bool {
        self.0.bool(name).ok().flatten().unwrap_or(default)
    }

    /// A name; none is the empty one.
    pub fn text(&self, name: &'static str) -> String {
        self.0.text(name).ok().flatten().unwrap_or_default().to_string()
    }

    /// What a name of a closed list stands for; `None` where absent.
    pub fn choice<T: Copy>(&self, name: &'static str, choices: &'static [(&'static str, T)]) -> Option<T> {
        self.0.choice(name, choices).ok().flatten()
    }

    /// Integers; none where absent.
    pub fn ints(&self, name: &'static str) -> Vec<i64> {
        self.0.ints(name).ok().flatten().map(|v| v.to_vec()).unwrap_or_default()
    }

    /// Real numbers; none where absent.
    pub fn floats(&self, name: &'static str) -> Vec<f64> {
        floats(&self.0, name).ok().flatten().unwrap_or_default()
    }
}

/// Real numbers, in XML separated by commas.
fn floats(attrs: &Attrs, name: &'static str) -> Result<Option<Vec<f64>>, OpError> {
    let numbers = match attrs.get(name) {
        None => return Ok(None),
        Some(AttrValue::Floats(v)) => Some(v.clone()),
        Some(AttrValue::Float(v)) => Some(vec![*v]),
        Some(AttrValue::Int(v)) => Some(vec![*v as f64]),
        Some(AttrValue::Ints(v)) => Some(v.iter().map(|&v| v as f64).collect()),
        Some(AttrValue::Text(text)) if text.trim().is_empty() => Some(Vec::new()),
        Some(AttrValue::Text(text)) => text.split(',').map(|item| item.trim().parse().ok()).collect(),
        Some(_) => None,
    };
    numbers.map(Some).ok_or_else(|| attrs.bad(name, "numbers separated by commas"))
}
