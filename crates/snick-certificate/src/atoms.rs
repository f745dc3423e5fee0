//! The integers that polynomials are made of.

use std::collections::HashMap;

use crate::graph::Value;
use crate::poly::{AtomId, Poly};

/// An integer that is not a sum or product of others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// An index along an axis of the compared values.
    Index(usize),
    /// An index along an axis that an operation combines: the number of the comparison, and of the axis.
    Combined(usize, usize),
    /// The size of an axis of a value.
    Dim(Value, usize),
    /// An element of an integer tensor, by its index along each axis.
    Element(Value, Vec<Poly>),
    /// A quotient rounded down; the divisor is at least 1.
    Quotient(Poly, Poly),
    /// A function whose cases are not distinguished.
    Function(Function, Vec<Option<Poly>>),
}

/// A function with cases.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// The smaller of two integers.
    Min,
    /// The first index of a range with a start, stop and step on an axis of a size.
    Start,
    /// The number of elements of such a range.
    Length,
}

/// Numbers atoms in order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Atoms {
    list: Vec<Atom>,
    ids: HashMap<Atom, AtomId>,
}

impl Atoms {
    /// The number of an atom.
    pub fn id(&mut self, atom: Atom) -> AtomId {
        let next = AtomId::try_from(self.list.len()).unwrap_or(AtomId::MAX);
        *self.ids.entry(atom).or_insert_with_key(|atom| {
            self.list.push(atom.clone());
            next
        })
    }

    /// The atom with a number.
    pub fn get(&self, id: AtomId) -> Option<&Atom> {
        self.list.get(id as usize)
    }
}
