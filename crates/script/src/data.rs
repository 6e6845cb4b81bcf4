//! What a script can see, and how it is handed over: only what it touches, and large objects one level at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::{Given, SAFE_INTEGER_MAX};

/// A value up to this size as JSON is sent whole.
const WHOLE_BYTES_MAX: usize = 64 << 10;
/// Small members of a large object travel with it, up to this much together.
const MEMBERS_BYTES_MAX: usize = 1 << 20;

const GIVEN_BYTES_MAX: usize = 16 << 10;
/// Words in a source, and what they ask for.
const GUESSES: [(&[&str], &[&str]); 2] = [
    (&["$json", "$input"], &["input"]),
    (&["$execution"], &["context", "execution"]),
];

/// The names of the context that become globals. `secrets` is not among them: code never sees one.
pub const ROOTS: [&str; 7] = [
    "webhook",
    "input",
    "steps",
    "variables",
    "env",
    "user",
    "execution",
];

/// One of the things that code can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A name of the context, one of [`ROOTS`].
    Context(&'a str),
    /// `$json`: the output of the step before.
    Input,
    /// `$('id or name').item.json`.
    Node(&'a str),
}

/// Where the data of a run come from.
pub trait Data: Send + Sync {
    fn part(&self, part: Part<'_>) -> Option<Cow<'_, Value>>;
}

/// The data of a run as a context like that of expressions.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// `webhook`, `input`, `steps` and so on.
    pub context: Map<String, Value>,
    /// The step whose output is `$json`. Without one it is the payload of the webhook, or `input`.
    pub previous: Option<String>,
    /// Ids of nodes by their names, for `$('a name')`.
    pub names: BTreeMap<String, String>,
}

impl Document {
    fn output(&self, node_id: &str) -> Option<&Value> {
        self.context.get("steps")?.get(node_id)?.get("output")
    }

    fn input(&self) -> Option<Cow<'_, Value>> {
        if let Some(previous) = &self.previous {
            return self.output(previous).map(Cow::Borrowed);
        }
        let payload = self
            .context
            .get("webhook")
            .and_then(|hook| hook.get("payload"));
        payload
            .or_else(|| self.context.get("input"))
            .map(Cow::Borrowed)
    }

    /// The payload, and beside its fields those of the call that n8n has there.
    fn webhook(&self) -> Option<Value> {
        let hook = self.context.get("webhook")?.as_object()?;
        let mut item = match hook.get("payload") {
            Some(Value::Object(fields)) => fields.clone(),
            Some(other) => Map::from_iter([("body".to_owned(), other.clone())]),
            None => return None,
        };
        for name in ["headers", "query", "params", "method"] {
            if let (false, Some(value)) = (item.contains_key(name), hook.get(name)) {
                item.insert(name.to_owned(), value.clone());
            }
        }
        Some(Value::Object(item))
    }
}

impl Data for Document {
    fn part(&self, part: Part<'_>) -> Option<Cow<'_, Value>> {
        match part {
            Part::Context(name) => self.context.get(name).map(Cow::Borrowed),
            Part::Input => self.input(),
            Part::Node(name) => {
                let by_name = || self.names.get(name).and_then(|id| self.output(id));
                if let Some(output) = self.output(name).or_else(by_name) {
                    return Some(Cow::Borrowed(output));
                }
                (name == "Webhook")
                    .then(|| self.webhook())
                    .flatten()
                    .map(Cow::Owned)
            }
        }
    }
}

/// An answer to "need": the body of a value frame, and whether it holds integers that must be kept exactly.
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    pub(crate) exact: bool,
}

/// Whether finding this costs so little that it can be done between two awaits.
pub(crate) fn is_small(data: &dyn Data, path: &[String]) -> bool {
    find(data, path).is_none_or(|value| size_up_to(&value, WHOLE_BYTES_MAX).is_some())
}

pub(crate) fn reply(data: &dyn Data, path: &[String]) -> Result<Reply, serde_json::Error> {
    let Some(value) = find(data, path) else {
        return Ok(Reply {
            body: b"[0]".to_vec(),
            exact: false,
        });
    };
    let mut body = Vec::new();
    let mut exact = false;
    match value.as_ref() {
        Value::Object(fields) if size_up_to(&value, WHOLE_BYTES_MAX).is_none() => {
            body.extend_from_slice(b"[2,[");
            write_members(fields, &mut body, &mut exact)?;
            body.extend_from_slice(b"]]");
        }
        whole => {
            body.extend_from_slice(b"[1,");
            write_value(whole, &mut body, &mut exact)?;
            body.push(b']');
        }
    }
    Ok(Reply { body, exact })
}

/// What the source looks like asking for, if it is small: it travels with the job and saves a question. A guess by
/// the text, so it must not matter whether it is right.
pub(crate) fn given(data: &dyn Data, source: &str) -> Result<Vec<Given>, serde_json::Error> {
    let mut given = Vec::new();
    for (names, path) in GUESSES {
        if !names.iter().any(|name| source.contains(name)) {
            continue;
        }
        let steps: Vec<String> = path.iter().map(|&step| step.to_owned()).collect();
        let small =
            find(data, &steps).is_some_and(|value| size_up_to(&value, GIVEN_BYTES_MAX).is_some());
        let reply = small.then(|| reply(data, &steps)).transpose()?;
        if let Some(reply) = reply.filter(|reply| !reply.exact) {
            given.push(Given {
                path: serde_json::to_string(&steps)?,
                reply: serde_json::from_slice(&reply.body)?,
            });
        }
    }
    Ok(given)
}

fn write_members(
    fields: &Map<String, Value>,
    body: &mut Vec<u8>,
    exact: &mut bool,
) -> Result<(), serde_json::Error> {
    let mut left = MEMBERS_BYTES_MAX;
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.push(b'[');
        serde_json::to_writer(&mut *body, name)?;
        if let Some(size) = size_up_to(value, WHOLE_BYTES_MAX.min(left)) {
            left -= size;
            body.push(b',');
            write_value(value, body, exact)?;
        }
        body.push(b']');
    }
    Ok(())
}

fn write_value(
    value: &Value,
    body: &mut Vec<u8>,
    exact: &mut bool,
) -> Result<(), serde_json::Error> {
    *exact = *exact || has_large_integer(value);
    serde_json::to_writer(body, value)
}

fn find<'a>(data: &'a dyn Data, path: &[String]) -> Option<Cow<'a, Value>> {
    let (part, rest) = match path {
        [kind, name, rest @ ..] if kind == "context" && ROOTS.contains(&name.as_str()) => {
            (Part::Context(name), rest)
        }
        [kind, name, rest @ ..] if kind == "node" => (Part::Node(name), rest),
        [kind, rest @ ..] if kind == "input" => (Part::Input, rest),
        _ => return None,
    };
    match data.part(part)? {
        Cow::Borrowed(value) => walk(value, rest).map(Cow::Borrowed),
        Cow::Owned(value) => walk(&value, rest).cloned().map(Cow::Owned),
    }
}

/// Holes are only ever left in objects.
fn walk<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(value, |value, name| value.as_object()?.get(name))
}

/// Roughly the length as JSON; `None` as soon as it is more than `budget`.
fn size_up_to(value: &Value, budget: usize) -> Option<usize> {
    fn charge(value: &Value, left: usize) -> Option<usize> {
        match value {
            Value::Null | Value::Bool(_) => left.checked_sub(5),
            Value::Number(_) => left.checked_sub(8),
            Value::String(text) => left.checked_sub(text.len() + 3),
            Value::Array(items) => items
                .iter()
                .try_fold(left.checked_sub(2)?, |left, item| charge(item, left)),
            Value::Object(fields) => fields
                .iter()
                .try_fold(left.checked_sub(2)?, |left, (name, item)| {
                    charge(item, left.checked_sub(name.len() + 4)?)
                }),
        }
    }
    charge(value, budget).map(|left| budget - left)
}

fn has_large_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_u64()
            .or_else(|| number.as_i64().map(i64::unsigned_abs))
            .is_some_and(|size| size > SAFE_INTEGER_MAX),
        Value::Array(items) => items.iter().any(has_large_integer),
        Value::Object(fields) => fields.values().any(has_large_integer),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(context: Value) -> Document {
        let Value::Object(context) = context else {
            panic!("an object");
        };
        Document {
            context,
            previous: Some("before".into()),
            names: BTreeMap::from([("Load order".into(), "load_1".into())]),
        }
    }

    fn ask(data: &Document, path: &[&str]) -> String {
        let path: Vec<String> = path.iter().map(|&step| step.to_owned()).collect();
        String::from_utf8(reply(data, &path).unwrap().body).unwrap()
    }

    #[test]
    fn small_values_travel_whole() {
        let data = document(json!({"steps": {"before": {"output": {"a": 1}}}, "user": {"id": 2}}));
        assert_eq!(ask(&data, &["context", "user"]), r#"[1,{"id":2}]"#);
        assert_eq!(ask(&data, &["input"]), r#"[1,{"a":1}]"#);
        assert_eq!(ask(&data, &["node", "before"]), r#"[1,{"a":1}]"#);
        assert_eq!(ask(&data, &["node", "nobody"]), "[0]");
    }

    #[test]
    fn large_objects_travel_one_level_at_a_time() {
        let large = "x".repeat(WHOLE_BYTES_MAX);
        let data = document(json!({"steps": {"big": {"output": large}, "small": {"output": 1}}}));
        assert_eq!(
            ask(&data, &["context", "steps"]),
            r#"[2,[["big"],["small",{"output":1}]]]"#
        );
        assert_eq!(
            ask(&data, &["context", "steps", "big"]),
            r#"[2,[["output"]]]"#
        );
        assert_eq!(
            ask(&data, &["context", "steps", "big", "output"]).len(),
            WHOLE_BYTES_MAX + 6
        );
    }

    #[test]
    fn secrets_are_never_served() {
        let data = document(json!({"secrets": {"token": "hush"}}));
        assert_eq!(ask(&data, &["context", "secrets"]), "[0]");
        assert_eq!(ask(&data, &["context", "secrets", "token"]), "[0]");
        assert_eq!(ask(&data, &["secrets"]), "[0]");
    }

    #[test]
    fn nodes_are_found_by_id_then_by_name() {
        let data = document(json!({
            "webhook": {"payload": {"id": 7, "query": "mine"}, "query": {"q": 1}, "headers": {"h": "x"}},
            "steps": {"load_1": {"output": 3}},
        }));
        assert_eq!(ask(&data, &["node", "load_1"]), "[1,3]");
        assert_eq!(ask(&data, &["node", "Load order"]), "[1,3]");
        assert_eq!(
            ask(&data, &["node", "Webhook"]),
            r#"[1,{"id":7,"query":"mine","headers":{"h":"x"}}]"#
        );
    }

    #[test]
    fn without_a_step_before_the_input_is_what_came_in() {
        let mut data = document(json!({"input": {"n": 1}}));
        data.previous = None;
        assert_eq!(ask(&data, &["input"]), r#"[1,{"n":1}]"#);
        data.context
            .insert("webhook".into(), json!({"payload": [1, 2]}));
        assert_eq!(ask(&data, &["input"]), "[1,[1,2]]");
    }

    #[test]
    fn integers_that_a_javascript_number_cannot_hold_are_announced() {
        for (value, exact) in [
            (json!(9_007_199_254_740_991_u64), false),
            (json!(9_007_199_254_740_993_u64), true),
            (json!({"a": [-9_007_199_254_740_993_i64]}), true),
            (json!(1e300), false),
        ] {
            let data = document(json!({"input": value}));
            let path = ["context".to_owned(), "input".to_owned()];
            assert_eq!(reply(&data, &path).unwrap().exact, exact, "{value}");
        }
    }
}
