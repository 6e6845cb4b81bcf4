//! Webhooks: which request starts which schema, who may send it, and what the caller gets. Pure: requests come in as
//! plain values, and nothing in here knows a server.

pub mod answer;
pub mod auth;
pub mod bucket;
pub mod path;
pub mod read;
pub mod router;

use std::time::Duration;

use serde_json::Value;

use crate::id::SchemaId;
use crate::quota::Rate;
use crate::schema::definition::Definition;
use crate::webhook::path::PathPattern;

/// How long a caller is kept waiting unless the trigger says otherwise, and at most.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(30);
pub const WAIT_MAX: Duration = Duration::from_secs(300);
/// How far the clock of a signed request may be off.
pub const TOLERANCE_DEFAULT: Duration = Duration::from_secs(300);
/// `max_body` can be no larger than this, whatever the configuration allows.
pub const BODY_MAX: usize = 64 << 20;

/// One entry of `triggers` with `type: webhook`.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    pub method: Method,
    pub path: PathPattern,
    pub respond: Respond,
    pub wait: Duration,
    pub auth: Auth,
    pub max_body: Option<usize>,
    pub rate: Option<Rate>,
    /// `input: payload`: the payload is the input of the execution, and must fit the schema's `input`.
    pub takes_input: bool,
}

/// What `input` of a trigger can be.
pub(crate) const INPUTS: &[(&str, bool)] = &[("payload", true)];

impl Trigger {
    /// Is there a request that both would take?
    pub fn clashes(&self, other: &Self) -> bool {
        other.method.overlaps(self.method) && other.path.shape() == self.path.shape()
    }
}

/// Which requests it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
    Options,
    Any,
}

impl Method {
    pub const CHOICES: &'static [(&'static str, Self)] = &[
        ("GET", Self::Get),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
        ("HEAD", Self::Head),
        ("OPTIONS", Self::Options),
        ("ANY", Self::Any),
    ];

    pub fn name(self) -> &'static str {
        let mut all = Self::CHOICES.iter();
        all.find(|(_, method)| *method == self)
            .map_or("", |(name, _)| name)
    }

    /// The method of a request. `None`: no trigger takes it.
    pub fn of_request(name: &str) -> Option<Self> {
        let mut all = Self::CHOICES.iter();
        let found = all.find(|(known, _)| *known == name).map(|(_, one)| *one);
        found.filter(|method| *method != Self::Any)
    }

    pub fn overlaps(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

/// When the caller is answered, and with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Respond {
    /// As soon as the execution is on disk.
    #[default]
    Immediately,
    /// With the output of the execution.
    LastNode,
    /// With what the first `respond` node says.
    RespondNode,
}

impl Respond {
    pub const CHOICES: &'static [(&'static str, Self)] = &[
        ("immediately", Self::Immediately),
        ("last_node", Self::LastNode),
        ("respond_node", Self::RespondNode),
    ];
}

/// How a caller proves itself. Secrets are named, never written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// The address is all there is to know.
    Open,
    /// `header` left out: `Authorization: Bearer SECRET`.
    Header {
        header: Option<String>,
        secret: String,
    },
    Hmac {
        /// Of the signature; left out: either of the two known forms.
        header: Option<String>,
        secret: String,
        tolerance: Duration,
    },
}

impl Auth {
    pub fn secret(&self) -> Option<&str> {
        match self {
            Self::Open => None,
            Self::Header { secret, .. } | Self::Hmac { secret, .. } => Some(secret),
        }
    }
}

/// A trigger under the name it has in its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTrigger {
    pub name: String,
    pub trigger: Trigger,
    /// As written, for the table.
    pub source: Value,
}

/// A trigger and the schema it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    pub schema_id: SchemaId,
    pub schema: String,
    /// The version it starts.
    pub version: u32,
    pub active: bool,
    pub name: String,
    pub trigger: Trigger,
}

/// The webhooks of a schema that are not disabled. One that cannot be read, saved before it was checked, is left out.
pub fn of_definition(definition: &Definition) -> Vec<NamedTrigger> {
    let entries = definition.triggers.iter().enumerate();
    let entries = entries.filter(|(_, entry)| is_enabled(entry));
    let named = entries.filter_map(|(place, entry)| {
        Some(NamedTrigger {
            name: name_of(&definition.triggers, place, entry),
            trigger: read::of_value(entry)?,
            source: entry.clone(),
        })
    });
    named.collect()
}

/// The same for the stored text of a version; nothing for a text that is no definition.
pub fn of_text(text: &str) -> Vec<NamedTrigger> {
    // Most schemas have none, and need not be read to find out.
    if !text.contains("\"webhook\"") {
        return Vec::new();
    }
    serde_json::from_str(text).map_or_else(|_| Vec::new(), |definition| of_definition(&definition))
}

fn is_enabled(entry: &Value) -> bool {
    entry["type"] == "webhook" && entry["disabled"] != true
}

const NAME_MAX: usize = 64;

/// What a trigger can be called; all digits are a place.
pub(crate) fn is_trigger_name(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_place = name.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= NAME_MAX && !is_place && name.bytes().all(letters)
}

/// A name of its own, so that another order of the triggers changes nothing; else its place.
fn name_of(triggers: &[Value], place: usize, entry: &Value) -> String {
    let is_taken = |name: &&str| {
        let mut others = triggers.iter().enumerate().filter(|(at, _)| *at != place);
        others.any(|(_, other)| other["type"] == "webhook" && other["name"] == *name)
    };
    match entry["name"].as_str().filter(|name| is_trigger_name(name)) {
        Some(name) if !is_taken(&name) => name.to_owned(),
        _ => place.to_string(),
    }
}

/// Gives every webhook without a path one that no caller can guess. One that was given before stays with its trigger:
/// the address is written down elsewhere. Of two versions that knew it, the one that is handed over first counts.
pub fn fill_paths(triggers: &mut [Value], earlier: &[&[Value]], mut draw: impl FnMut() -> u128) {
    for place in 0..triggers.len() {
        let entry = &triggers[place];
        if entry["type"] != "webhook" || !entry["path"].is_null() {
            continue;
        }
        let name = name_of(triggers, place, entry);
        let known = earlier.iter().find_map(|version| given(version, &name));
        let path = known
            .cloned()
            .unwrap_or_else(|| Value::String(format!("{:032x}", draw())));
        if let Value::Object(fields) = &mut triggers[place] {
            fields.insert("path".to_owned(), path);
        }
    }
}

/// The path that a version's webhook of this name was given.
fn given<'a>(version: &'a [Value], name: &str) -> Option<&'a Value> {
    let mut all = version.iter().enumerate();
    let found = all.find(|(at, one)| {
        one["type"] == "webhook" && name_of(version, *at, one) == name && is_drawn(&one["path"])
    });
    found.map(|(_, one)| &one["path"])
}

fn is_drawn(path: &Value) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    path.as_str()
        .is_some_and(|path| path.len() == 32 && path.bytes().all(hex))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(triggers: &[Value]) -> Vec<&str> {
        let paths = triggers.iter().map(|entry| entry["path"].as_str());
        paths.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn a_path_that_was_given_stays_with_its_trigger() {
        let mut first = vec![
            json!({"type": "webhook", "name": "a"}),
            json!({"type": "cron", "cron": "@daily"}),
            json!({"type": "webhook"}),
            json!({"type": "webhook", "path": "orders"}),
        ];
        let mut number = 0;
        fill_paths(&mut first, &[], || {
            number += 1;
            number
        });
        let given = format!("{:032x}", 1);
        assert_eq!(
            paths(&first),
            [given.as_str(), "", &format!("{:032x}", 2), "orders"]
        );
        // Another order; and a path that was written by hand is not taken over by one that has none.
        let mut second = vec![
            json!({"type": "webhook", "name": "b"}),
            json!({"type": "webhook", "name": "a"}),
            json!({"type": "cron", "cron": "@daily"}),
            json!({"type": "webhook"}),
        ];
        fill_paths(&mut second, &[&first], || 9);
        let new = format!("{:032x}", 9);
        assert_eq!(paths(&second), [new.as_str(), &given, "", &new]);
    }

    #[test]
    fn a_path_is_that_of_the_first_version_that_has_it() {
        let one = |path: &str| json!({"type": "webhook", "name": "a", "path": path});
        let (live, draft) = (format!("{:032x}", 1), format!("{:032x}", 2));
        let mut next = vec![json!({"type": "webhook", "name": "a"})];
        fill_paths(&mut next, &[&[one(&live)], &[one(&draft)]], || 9);
        assert_eq!(paths(&next), [live.as_str()]);
        let mut next = vec![json!({"type": "webhook", "name": "a"})];
        fill_paths(&mut next, &[&[one("by-hand")], &[one(&draft)]], || 9);
        assert_eq!(paths(&next), [draft.as_str()]);
    }

    #[test]
    fn names_are_their_own_or_a_place() {
        let names = ["a", "a", "7", "a b", "b"];
        let triggers = names.map(
            |name| json!({"type": "webhook", "path": format!("p-{}", name.len()), "name": name}),
        );
        let definition: Definition = serde_json::from_value(json!({
            "language": 1, "name": "t", "settings": {}, "triggers": triggers, "nodes": [], "edges": [],
        }))
        .unwrap();
        let named = of_definition(&definition);
        let given: Vec<&str> = named.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(given, ["0", "1", "2", "3", "b"]);
        assert_eq!(of_text(&serde_json::to_string(&definition).unwrap()), named);
        assert!(of_text("no \"webhook\" here").is_empty());
    }

    #[test]
    fn any_overlaps_with_every_method() {
        assert!(Method::Any.overlaps(Method::Get) && Method::Get.overlaps(Method::Any));
        assert!(Method::Get.overlaps(Method::Get) && !Method::Get.overlaps(Method::Post));
        assert_eq!(Method::of_request("ANY"), None);
        assert_eq!(Method::of_request("PATCH"), Some(Method::Patch));
        assert_eq!(Method::of_request("TRACE"), None);
    }
}
