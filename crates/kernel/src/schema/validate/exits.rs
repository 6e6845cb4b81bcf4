//! The exits that a node has, as data for the rules about edges.

use serde_json::Value;

use crate::node::NodeHandler;
use crate::schema::definition::{HANDLE_ERROR, HANDLE_SUCCESS, HANDLE_TIMEOUT};

pub(super) struct Exits {
    /// With this config; never empty.
    names: Vec<String>,
    /// With some config or other.
    of_type: &'static [&'static str],
    /// See [`NodeHandler::unnamed_exit`].
    unnamed: Option<&'static str>,
}

impl Exits {
    pub(super) fn of(handler: &dyn NodeHandler, config: &Value) -> Self {
        let mut names = handler.handles(config);
        if names.is_empty() {
            names.push(HANDLE_SUCCESS.to_owned());
        }
        Self {
            names,
            of_type: handler.spec().handles,
            unnamed: handler.unnamed_exit(),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn unnamed(&self) -> Option<&'static str> {
        self.unnamed
    }

    pub(super) fn has(&self, handle: &str) -> bool {
        self.names().any(|name| name == handle)
    }

    /// The type can have it, this node cannot.
    pub(super) fn has_otherwise(&self, handle: &str) -> bool {
        !self.has(handle) && self.of_type.contains(&handle)
    }

    /// More than going on or failing.
    pub(super) fn are_several(&self) -> bool {
        self.names()
            .any(|name| ![HANDLE_SUCCESS, HANDLE_ERROR].contains(&name))
    }

    /// Without an edge it fails the execution instead of completing it. A case of a `switch` may have the same name.
    pub(super) fn fails(&self, handle: &str) -> bool {
        handle == HANDLE_ERROR || handle == HANDLE_TIMEOUT && self.of_type.contains(&handle)
    }
}
