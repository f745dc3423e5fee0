//! Compares answers with the tables of the page.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::page::{Kind, Table};

/// The results of comparing all answers so far with the tables.
pub struct Audit<'p> {
    tables: &'p [Table],
    printed: HashSet<Row<'p>>,
    omitted: HashSet<Row<'p>>,
    /// For members whose type lists the allowed strings: the strings that occurred in answers.
    values: HashSet<(Row<'p>, String)>,
    problems: BTreeSet<String>,
}

/// A member of a table: the anchor and the path.
type Row<'p> = (&'p str, &'p str);

/// The place where the page describes an object of an answer: the table, and the path of the object in this
/// table.
#[derive(Clone)]
struct Place<'p> {
    table: &'p Table,
    path: String,
}

impl Place<'_> {
    /// The path of a member.
    fn member(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// The key of a member of this object, if the path is of one.
    fn key<'m>(&self, path: &'m str) -> Option<&'m str> {
        let key =
            if self.path.is_empty() { path } else { path.strip_prefix(&self.path)?.strip_prefix('.')? };
        (!key.contains(['.', '[', '*'])).then_some(key)
    }
}

impl<'p> Audit<'p> {
    pub fn new(tables: &'p [Table]) -> Self {
        Self {
            tables,
            printed: HashSet::new(),
            omitted: HashSet::new(),
            values: HashSet::new(),
            problems: BTreeSet::new(),
        }
    }

    /// Compares an answer with the table of its schema. The answer for one of several models may also contain
    /// the members that the page lists for such answers.
    pub fn answer(&mut self, answer: &Value) {
        let Some(members) = answer.as_object() else { panic!("not an object: {answer}") };
        let schema = members.get("schema").and_then(Value::as_str);
        let of_schema = schema.map(|schema| {
            let table = self.tables.iter().find(|table| table.schemas.iter().any(|other| other == schema));
            table.unwrap_or_else(|| panic!("no table for `{schema}`"))
        });
        let is_one_of_several = members.get("model").is_some_and(Value::is_string);
        let of_several = is_one_of_several.then(|| self.table("several-models"));
        let mut members = members.clone();
        members.remove("schema");
        self.compare(&members, of_schema.into_iter().chain(of_several));
    }

    /// Compares a line of standard error with the table of diagnostics.
    pub fn diagnostic(&mut self, diagnostic: &Value) {
        let table = self.table("diagnostics");
        self.compare(diagnostic.as_object().unwrap(), [table]);
    }

    fn table(&self, anchor: &str) -> &'p Table {
        let table = self.tables.iter().find(|table| table.anchor == anchor);
        table.unwrap_or_else(|| panic!("no table `{anchor}`"))
    }

    fn compare(&mut self, members: &Map<String, Value>, tables: impl IntoIterator<Item = &'p Table>) {
        let places = tables.into_iter().map(|table| Place { table, path: String::new() });
        self.object(members, &places.collect::<Vec<_>>());
    }

    fn object(&mut self, object: &Map<String, Value>, places: &[Place<'p>]) {
        for (key, value) in object {
            let found = places.iter().find_map(|place| {
                let paths = [place.member(key), place.member("*")];
                let member = place.table.members.iter().find(|member| paths.contains(&member.path))?;
                Some((place.table, member))
            });
            let Some((table, member)) = found else {
                let place = &places[0];
                self.problem(place, &place.member(key), "is printed, but is not listed");
                continue;
            };
            self.printed.insert((&table.anchor, &member.path));
            let row = (table.anchor.as_str(), member.path.as_str());
            self.value(value, &member.kinds, Place { table, path: member.path.clone() }, row);
        }
        for place in places {
            for member in &place.table.members {
                let Some(key) = place.key(&member.path) else { continue };
                if object.contains_key(key) {
                    continue;
                }
                self.omitted.insert((&place.table.anchor, &member.path));
                if !member.is_optional {
                    self.problem(place, &member.path, "is omitted, but is not optional");
                }
            }
        }
    }

    fn value(&mut self, value: &Value, kinds: &'p [Kind], place: Place<'p>, row: Row<'p>) {
        let Some(kind) = kinds.iter().find(|kind| accepts(kind, value)) else {
            let path = place.path.clone();
            return self.problem(&place, &path, &format!("is {value}, which is not of its type"));
        };
        match (value, kind) {
            (Value::Array(items), Kind::List(kinds)) => {
                let place = Place { path: format!("{}[]", place.path), ..place };
                items.iter().for_each(|item| self.value(item, kinds, place.clone(), row));
            }
            (Value::Object(members), Kind::Like(anchor)) => {
                let like = Place { table: self.table(anchor), path: String::new() };
                self.object(members, &[place, like]);
            }
            (Value::Object(members), _) => self.object(members, &[place]),
            (Value::String(text), Kind::Literal(_)) => drop(self.values.insert((row, text.clone()))),
            _ => {}
        }
    }

    fn problem(&mut self, place: &Place, path: &str, what: &str) {
        self.problems.insert(format!("{}: `{path}` {what}", place.table.anchor));
    }

    /// The problems found, including members and values that are listed but did not occur. Optional members
    /// in `always_printed`, each given by anchor and path, need not be omitted in any answer.
    pub fn finish(mut self, always_printed: &[[&str; 2]]) -> Vec<String> {
        for table in self.tables {
            for member in &table.members {
                let row = (table.anchor.as_str(), member.path.as_str());
                let mut problem =
                    |what: String| self.problems.insert(format!("{}: `{}` {what}", row.0, row.1));
                if !self.printed.contains(&row) {
                    problem("is listed, but was not printed".to_string());
                } else if member.is_optional
                    && !self.omitted.contains(&row)
                    && !always_printed.contains(&[row.0, row.1])
                {
                    problem("is optional, but was always printed".to_string());
                }
                for value in literals(&member.kinds) {
                    if !self.values.contains(&(row, value.clone())) {
                        problem(format!("is listed with the value `{value}`, which did not occur"));
                    }
                }
            }
        }
        self.problems.into_iter().collect()
    }
}

/// Whether a type includes a value, regardless of the elements or members of the value.
fn accepts(kind: &Kind, value: &Value) -> bool {
    match kind {
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Integer => value.is_i64() || value.is_u64(),
        Kind::Number => value.is_number(),
        Kind::String => value.is_string(),
        Kind::Expression => value.is_i64() || value.is_u64() || value.is_string(),
        Kind::Object | Kind::Like(_) => value.is_object(),
        Kind::Literal(text) => value.as_str() == Some(text),
        Kind::List(_) => value.is_array(),
    }
}

/// The values that are listed in a type.
fn literals(kinds: &[Kind]) -> Vec<String> {
    let of = |kind: &Kind| match kind {
        Kind::Literal(text) => vec![text.clone()],
        Kind::List(kinds) => literals(kinds),
        _ => Vec::new(),
    };
    kinds.iter().flat_map(of).collect()
}
