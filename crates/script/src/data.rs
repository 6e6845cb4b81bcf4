//! What a script can see, and how it is handed over: only what it touches, and large objects one level at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::wire::{ReplyFrame, SAFE_INTEGER_MAX};

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

/// What the server itself says about a call of a webhook. A caller who sends fields of these names does not change it.
const CALL_FIELDS: [&str; 5] = ["headers", "query", "params", "method", "path"];
/// The name under which n8n knows what came in.
const WEBHOOK: &str = "Webhook";

/// The data of a run as a context like that of expressions. Borrowed from the caller: contexts are large, and what
/// code touches of them is small.
#[derive(Clone, Debug, Default)]
pub struct Document<'a> {
    /// `webhook`, `input`, `steps` and so on.
    pub context: Cow<'a, Map<String, Value>>,
    /// The step whose output is `$json`. Without one it is the payload of the webhook, or `input`.
    pub previous: Option<Cow<'a, str>>,
    /// Ids of nodes by their names, for `$('a name')`.
    pub names: Cow<'a, BTreeMap<String, String>>,
    /// `$('Webhook').item.json`, made when it is asked for: the one part that is not there already.
    webhook: OnceLock<Option<Value>>,
}

impl<'a> Document<'a> {
    pub fn new(
        context: Cow<'a, Map<String, Value>>,
        previous: Option<Cow<'a, str>>,
        names: Cow<'a, BTreeMap<String, String>>,
    ) -> Self {
        Self {
            context,
            previous,
            names,
            webhook: OnceLock::new(),
        }
    }

    fn output(&self, node_id: &str) -> Option<&Value> {
        self.context.get("steps")?.get(node_id)?.get("output")
    }

    fn input(&self) -> Option<&Value> {
        if let Some(previous) = &self.previous {
            return self.output(previous);
        }
        let hook = self.context.get("webhook");
        let payload = hook.and_then(|hook| hook.get("payload"));
        payload.or_else(|| self.context.get("input"))
    }

    fn node(&self, name: &str) -> Option<&Value> {
        let by_name = || self.names.get(name).and_then(|id| self.output(id));
        let output = self.output(name).or_else(by_name);
        // People call their start node so; it leaves an empty object behind.
        let is_bare = output.is_none_or(|output| output.as_object().is_some_and(Map::is_empty));
        let webhook = || self.webhook.get_or_init(|| self.make_webhook()).as_ref();
        match name == WEBHOOK && is_bare {
            true => webhook().or(output),
            false => output,
        }
    }

    /// The fields of the payload, the payload itself as n8n has it, and what the server says about the call.
    fn make_webhook(&self) -> Option<Value> {
        let hook = self.context.get("webhook")?.as_object()?;
        let payload = hook.get("payload")?;
        let mut item = payload.as_object().cloned().unwrap_or_default();
        item.insert("body".to_owned(), payload.clone());
        for name in CALL_FIELDS {
            if let Some(value) = hook.get(name) {
                item.insert(name.to_owned(), value.clone());
            }
        }
        Some(Value::Object(item))
    }
}

impl Data for Document<'_> {
    fn part(&self, part: Part<'_>) -> Option<Cow<'_, Value>> {
        let found = match part {
            Part::Context(name) => self.context.get(name),
            Part::Input => self.input(),
            Part::Node(name) => self.node(name),
        };
        found.map(Cow::Borrowed)
    }
}

/// An answer to "need": the body of a value frame, and whether it holds integers that must be kept exactly.
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    pub(crate) exact: bool,
}

/// Whether an answer with this costs so little that it can be made between two awaits.
pub(crate) fn is_small(value: &Value) -> bool {
    size_up_to(value, WHOLE_BYTES_MAX).is_some()
}

pub(crate) fn reply(found: Option<&Value>) -> Result<Reply, serde_json::Error> {
    let Some(value) = found else {
        return Ok(Reply {
            body: b"[0]".to_vec(),
            exact: false,
        });
    };
    let mut body = Vec::new();
    let mut exact = false;
    match value {
        Value::Object(fields) if !is_small(value) => {
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
pub(crate) fn given(data: &dyn Data, source: &str) -> Result<Vec<ReplyFrame>, serde_json::Error> {
    let mut given = Vec::new();
    for (names, path) in GUESSES {
        if !names.iter().any(|name| source.contains(name)) {
            continue;
        }
        let steps: Vec<String> = path.iter().map(|&step| step.to_owned()).collect();
        let found = find(data, &steps);
        let small = found.filter(|value| size_up_to(value, GIVEN_BYTES_MAX).is_some());
        let reply = small.map(|value| reply(Some(&value))).transpose()?;
        if let Some(reply) = reply.filter(|reply| !reply.exact) {
            given.push(ReplyFrame {
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

pub(crate) fn find<'a>(data: &'a dyn Data, path: &[String]) -> Option<Cow<'a, Value>> {
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

    fn document(context: Value) -> Document<'static> {
        let Value::Object(context) = context else {
            panic!("an object");
        };
        let names = BTreeMap::from([("Load order".into(), "load_1".into())]);
        Document::new(
            Cow::Owned(context),
            Some("before".into()),
            Cow::Owned(names),
        )
    }

    fn answer(data: &Document<'_>, path: &[&str]) -> Reply {
        let path: Vec<String> = path.iter().map(|&step| step.to_owned()).collect();
        reply(find(data, &path).as_deref()).unwrap()
    }

    fn ask(data: &Document<'_>, path: &[&str]) -> String {
        String::from_utf8(answer(data, path).body).unwrap()
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
        let data = document(json!({"steps": {"load_1": {"output": 3}}}));
        assert_eq!(ask(&data, &["node", "load_1"]), "[1,3]");
        assert_eq!(ask(&data, &["node", "Load order"]), "[1,3]");
    }

    #[test]
    fn a_caller_cannot_forge_what_the_server_says_about_the_call() {
        let own = json!({"id": 7, "query": "forged", "headers": 1, "params": 2, "method": 3, "path": 4, "body": 5});
        let data = document(json!({"webhook": {
            "payload": own, "query": {"q": 1}, "headers": {"h": "x"}, "params": {}, "method": "POST", "path": "orders",
        }}));
        let read = |name: &str| ask(&data, &["node", "Webhook", name]);
        assert_eq!(read("id"), "[1,7]");
        assert_eq!(read("query"), r#"[1,{"q":1}]"#);
        assert_eq!(read("headers"), r#"[1,{"h":"x"}]"#);
        assert_eq!(read("params"), "[1,{}]");
        assert_eq!(read("method"), r#"[1,"POST"]"#);
        assert_eq!(read("path"), r#"[1,"orders"]"#);
        assert_eq!(read("body"), format!("[1,{own}]"));
        let text = document(json!({"webhook": {"payload": "text", "method": "PUT"}}));
        assert_eq!(
            ask(&text, &["node", "Webhook"]),
            r#"[1,{"body":"text","method":"PUT"}]"#
        );
    }

    #[test]
    fn a_start_node_called_webhook_hides_nothing() {
        for (id, name) in [("Webhook", "Begin"), ("start_1", "Webhook")] {
            let steps = json!({id: {"output": {}}});
            let mut data = document(json!({"webhook": {"payload": {"id": 7}}, "steps": steps}));
            data.names.to_mut().insert(name.into(), id.into());
            assert_eq!(
                ask(&data, &["node", "Webhook"]),
                r#"[1,{"id":7,"body":{"id":7}}]"#
            );
            let mut by_hand = document(json!({"webhook": {}, "steps": steps}));
            by_hand.names.to_mut().insert(name.into(), id.into());
            assert_eq!(ask(&by_hand, &["node", "Webhook"]), "[1,{}]");
        }
        let other = document(json!({
            "webhook": {"payload": {"id": 7}}, "steps": {"Webhook": {"output": {"status_code": 200}}},
        }));
        assert_eq!(
            ask(&other, &["node", "Webhook"]),
            r#"[1,{"status_code":200}]"#
        );
    }

    #[test]
    fn without_a_step_before_the_input_is_what_came_in() {
        let mut data = document(json!({"input": {"n": 1}}));
        data.previous = None;
        assert_eq!(ask(&data, &["input"]), r#"[1,{"n":1}]"#);
        let context = data.context.to_mut();
        context.insert("webhook".into(), json!({"payload": [1, 2]}));
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
            assert_eq!(answer(&data, &["context", "input"]).exact, exact, "{value}");
        }
    }
}
