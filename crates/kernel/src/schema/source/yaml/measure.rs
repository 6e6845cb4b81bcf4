//! A first pass over YAML that only measures it.
//!
//! saphyr copies whatever an alias names, and does not count what stands in keys. Here a copy is a
//! reference count, and a collection that unfolds too deep or too large is dropped the moment it
//! closes, so that the second pass can build the real tree without fear.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use saphyr::{AnnotatedMapping, LoadableYamlNode, Marker, ScanError, Tag, Yaml};

use super::{MAX_DEPTH, MAX_VALUES};

/// Values in a text that uses anchors; each anchor costs a copy.
const MAX_ANCHORED: usize = 20_000;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Excess {
    Depth,
    Values,
}

/// What is too much, and at which character it begins.
pub(super) fn excess(text: &str) -> Result<Option<(Excess, usize)>, ScanError> {
    let documents = Tree::load_from_str(text)?;
    Ok(documents.iter().find_map(Tree::excess))
}

struct Tree {
    identity: u64,
    content: Content,
    start: usize,
    depth: usize,
    values: usize,
    anchored: bool,
}

#[derive(Clone)]
enum Content {
    Nothing,
    Scalar,
    List(Rc<Vec<Tree>>),
    Map(Rc<AnnotatedMapping<'static, Tree>>),
    Refused(Excess),
}

fn fresh_identity() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Tree {
    fn new(content: Content) -> Self {
        Self {
            identity: fresh_identity(),
            content,
            start: 0,
            depth: 0,
            values: 1,
            anchored: false,
        }
    }

    fn excess(&self) -> Option<(Excess, usize)> {
        match &self.content {
            Content::Refused(excess) => Some((*excess, self.start)),
            Content::List(items) => items.iter().find_map(Self::excess),
            Content::Map(entries) => entries
                .iter()
                .find_map(|(key, value)| key.excess().or_else(|| value.excess())),
            Content::Nothing | Content::Scalar => None,
        }
    }

    fn measure(&mut self) {
        let (mut depth, mut values, mut anchored) = (0, 1_usize, self.anchored);
        let mut add = |child: &Tree| {
            depth = depth.max(child.depth);
            values = values.saturating_add(child.values);
            anchored |= child.anchored;
        };
        match &self.content {
            Content::List(items) => items.iter().for_each(&mut add),
            Content::Map(entries) => entries.iter().for_each(|(key, value)| {
                add(key);
                add(value);
            }),
            _ => {}
        }
        (self.depth, self.values, self.anchored) = (depth + 1, values, anchored);
        if self.depth > MAX_DEPTH {
            self.refuse(Excess::Depth);
        } else if values > 2 * MAX_VALUES || (anchored && values > MAX_ANCHORED) {
            self.refuse(Excess::Values);
        }
    }

    fn refuse(&mut self, excess: Excess) {
        self.content = Content::Refused(excess);
        (self.depth, self.values) = (0, 1);
    }
}

/// The parser copies for anchors and aliases, and for nothing else.
impl Clone for Tree {
    fn clone(&self) -> Self {
        Self {
            identity: fresh_identity(),
            content: self.content.clone(),
            anchored: true,
            ..*self
        }
    }
}

/// No two keys are the same here: repeated keys are the second pass's business, and must not stop the
/// first.
impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

impl Eq for Tree {}

impl Hash for Tree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

impl<'input> LoadableYamlNode<'input> for Tree {
    type HashKey = Tree;

    fn from_bare_yaml(yaml: Yaml<'input>) -> Self {
        Self::new(match yaml {
            Yaml::Sequence(_) => Content::List(Rc::default()),
            Yaml::Mapping(_) => Content::Map(Rc::new(AnnotatedMapping::new())),
            Yaml::BadValue => Content::Nothing,
            _ => Content::Scalar,
        })
    }

    fn is_sequence(&self) -> bool {
        matches!(self.content, Content::List(_))
    }

    fn is_mapping(&self) -> bool {
        matches!(self.content, Content::Map(_))
    }

    fn is_badvalue(&self) -> bool {
        matches!(self.content, Content::Nothing)
    }

    fn sequence_mut(&mut self) -> &mut Vec<Self> {
        match &mut self.content {
            Content::List(items) => Rc::make_mut(items),
            _ => unreachable!("the parser asks `is_sequence` first"),
        }
    }

    fn mapping_mut(&mut self) -> &mut AnnotatedMapping<'static, Self> {
        match &mut self.content {
            Content::Map(entries) => Rc::make_mut(entries),
            _ => unreachable!("the parser asks `is_mapping` first"),
        }
    }

    fn into_tagged(self, _tag: Cow<'input, Tag>) -> Self {
        self
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(Content::Nothing))
    }

    fn with_start_marker(mut self, mark: Marker) -> Self {
        self.start = mark.index();
        self
    }

    fn with_end_marker(mut self, _mark: Marker) -> Self {
        self.measure();
        self
    }
}
