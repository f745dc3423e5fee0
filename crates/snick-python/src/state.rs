//! A model, with the data that was derived from it.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use snick::{Error, Graph, InferOptions, Limits, Located, NodeId};

use crate::listing::{GraphPath, Listing};
use crate::watch::Interrupt;

/// A model, with the data that was derived from it so far.
pub struct State {
    pub model: snick::Model,
    /// Whether the model is unchanged since it was read.
    pub is_as_read: bool,
    /// The inference errors, if the model was inferred since its last change.
    pub errors: Option<Vec<Located>>,
    pub session: Option<Arc<snick::Session>>,
    pub canonical: Option<Arc<snick::Session>>,
    /// The layers of each graph that was asked for.
    listings: HashMap<GraphPath, Arc<Listing>>,
    /// How often the model was replaced.
    pub changes: u64,
}

impl State {
    pub fn new(model: snick::Model) -> Self {
        let (errors, session, canonical, listings) = (None, None, None, HashMap::new());
        Self { model, is_as_read: true, errors, session, canonical, listings, changes: 0 }
    }

    /// Returns the model so that it can be changed. Discards all derived data.
    pub fn change(&mut self) -> &mut snick::Model {
        (self.errors, self.session, self.canonical) = (None, None, None);
        self.listings.clear();
        &mut self.model
    }

    /// Replaces the model. `errors` are its inference errors, if it is inferred.
    pub fn replace(&mut self, model: snick::Model, errors: Option<Vec<Located>>) {
        *self.change() = model;
        self.errors = errors;
        self.changes += 1;
    }

    /// Infers the model if needed, and returns the errors.
    pub fn infer(&mut self, limits: Limits, interrupt: &Interrupt) -> Result<&[Located], Error> {
        if self.errors.is_none() {
            // Discards sessions first, because they share the graph that inference changes.
            let options = InferOptions::new().limits(limits).progress(interrupt.progress());
            let inference = self.change().infer_with(&options)?;
            self.errors = Some(inference.into_located());
        }
        Ok(self.errors.as_deref().unwrap_or_default())
    }

    pub fn session(&mut self, is_canonical: bool) -> Result<Arc<snick::Session>, Error> {
        let cached = if is_canonical { &self.canonical } else { &self.session };
        if let Some(session) = cached {
            return Ok(session.clone());
        }
        let made = match is_canonical {
            true => {
                let mut model = self.model.clone();
                // Layers that cannot be rewritten run as they are.
                let _ = model.canonicalise();
                model.session()?
            }
            false => self.model.session()?,
        };
        let made = Arc::new(made);
        // A session with variables is not cached, because a new run must not see the variables of earlier
        // runs.
        if !made.has_variables() {
            let cache = if is_canonical { &mut self.canonical } else { &mut self.session };
            *cache = Some(made.clone());
        }
        Ok(made)
    }

    /// The graph at a path, with its layers; `None` if there is no such body.
    pub fn graph(&mut self, path: &[(usize, usize)]) -> Option<(&Graph, Arc<Listing>)> {
        let mut graph = self.model.graph();
        for depth in 0.. {
            let before = path.get(..depth)?;
            if !self.listings.contains_key(before) {
                self.listings.insert(before.to_vec(), Arc::new(Listing::new(graph)));
            }
            let listing = self.listings.get(before)?;
            let Some(&(layer, body)) = path.get(depth) else { return Some((graph, listing.clone())) };
            graph = graph.node(listing.id(layer)?).op().bodies().nth(body)?.1;
        }
        None
    }

    /// A layer of the graph at a path.
    pub fn layer(
        &mut self,
        path: &[(usize, usize)],
        index: usize,
    ) -> PyResult<(&Graph, Arc<Listing>, NodeId)> {
        let found = self.graph(path).and_then(|(graph, listing)| {
            let id = listing.id(index)?;
            Some((graph, listing, id))
        });
        found.ok_or_else(|| PyIndexError::new_err(format!("no layer {index}; the model has changed")))
    }
}
