//! Messages as bytes. What we write is JSON; what we read may come from anybody, so the reader is tolerant of what is
//! missing and strict about what it must rely on.

use std::borrow::Cow;
use std::fmt::Display;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::queue::Message;
use pawl_kernel::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

/// More than a hundred times what we write ourselves.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
pub(crate) const MAX_DEPTH: usize = 64;
/// Characters of the key by which another program names what it starts.
pub(crate) const MAX_KEY: usize = 200;

/// No row is that far, and a message ahead of its row means "the row is the truth": never a duplicate.
const UNKNOWN_SEQ: u64 = u64::MAX;

#[derive(Serialize)]
struct Outgoing<'a> {
    execution_id: Uuid,
    schema_id: Uuid,
    current_node_id: &'a str,
    seq: u64,
    debug_mode: bool,
    #[serde(serialize_with = "as_text")]
    published_at: Timestamp,
}

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub(crate) fn encode(message: &Message) -> Vec<u8> {
    let outgoing = Outgoing {
        execution_id: message.execution_id.0,
        schema_id: message.schema_id.0,
        current_node_id: &message.node_id,
        seq: message.seq,
        debug_mode: message.debug_mode,
        published_at: message.published_at,
    };
    // Writing plain fields to memory cannot fail; an empty body would be a dead letter, so nothing is lost silently.
    serde_json::to_vec(&outgoing).unwrap_or_default()
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    execution_id: Cow<'a, str>,
    schema_id: Option<Cow<'a, str>>,
    current_node_id: Option<Cow<'a, str>>,
    seq: Option<u64>,
    debug_mode: Option<bool>,
    published_at: Option<Cow<'a, str>>,
    action: Option<Cow<'a, str>>,
    #[serde(borrow)]
    context: Option<&'a RawValue>,
}

/// What a message wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Wish {
    Look(Message),
    Start(StartWish),
}

/// Another program wants an execution started.
#[derive(Debug, PartialEq)]
pub struct StartWish {
    /// The sender's own name for it: start once per key.
    pub key: String,
    /// Name or id of the schema.
    pub schema: String,
    /// Becomes the initial variables.
    pub context: Map<String, Value>,
}

impl StartWish {
    /// Reads a message by the rules of the queue, for those that ended as dead letters. `None`: it wants something else;
    /// an error says why nobody can start this.
    pub fn read(body: &[u8]) -> Result<Option<Self>, String> {
        let Ok(incoming) = read::<Incoming<'_>>(body) else {
            return Ok(None);
        };
        if incoming.action.as_deref() != Some("start") {
            return Ok(None);
        }
        start(&incoming)
            .map(Some)
            .map_err(|defect| defect.reason().to_owned())
    }
}

/// Why a message cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Nobody could use it; whoever reads the dead letter finds out the same.
    Unreadable(String),
    /// It is well-formed, but this installation does not want it.
    Unwanted(String),
}

impl Defect {
    pub(crate) fn reason(&self) -> &str {
        let (Self::Unreadable(reason) | Self::Unwanted(reason)) = self;
        reason
    }
}

/// `class` is that of the queue it came from, `now` stands in for a missing time.
pub(crate) fn decode(
    body: &[u8],
    class: PriorityClass,
    accept_external: bool,
    now: Timestamp,
) -> Result<Wish, Defect> {
    let incoming: Incoming<'_> = read(body).map_err(Defect::Unreadable)?;
    match incoming.action.as_deref() {
        None => look(&incoming, class, now),
        Some("resume") if accept_external => look(&incoming, class, now),
        Some("start") if accept_external => start(&incoming).map(Wish::Start),
        Some("start" | "resume") => Err(Defect::Unwanted(
            "messages of other programs are not accepted here; set broker.accept_external to take them".into(),
        )),
        Some(other) => Err(Defect::Unreadable(format!(
            "the action {} is unknown; there are \"start\" and \"resume\"",
            shortened(&format!("{other:?}"))
        ))),
    }
}

/// The execution that a dead letter is about, if it says so at all.
pub(crate) fn execution_of(body: &[u8]) -> Option<ExecutionId> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        execution_id: Cow<'a, str>,
    }
    let only: OnlyId<'_> = read(body).ok()?;
    only.execution_id.parse().ok()
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    if body.len() > MAX_BYTES {
        return Err(format!(
            "it has {} bytes, at most {MAX_BYTES} are read",
            body.len()
        ));
    }
    if is_deeper_than(body, MAX_DEPTH) {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    serde_json::from_slice(body)
        .map_err(|error| format!("it is no message: {}", shortened(&error.to_string())))
}

fn look(incoming: &Incoming<'_>, class: PriorityClass, now: Timestamp) -> Result<Wish, Defect> {
    let execution_id: ExecutionId = incoming.execution_id.parse().map_err(|_| {
        Defect::Unreadable(format!(
            "its execution_id {} is no UUID",
            shortened(&format!("{:?}", incoming.execution_id))
        ))
    })?;
    let schema_id = incoming.schema_id.as_deref().and_then(|id| id.parse().ok());
    let published_at = incoming.published_at.as_deref().and_then(Timestamp::parse);
    Ok(Wish::Look(Message {
        execution_id,
        schema_id: schema_id.unwrap_or(SchemaId(Uuid::nil())),
        node_id: incoming.current_node_id.as_deref().unwrap_or("").into(),
        seq: incoming.seq.unwrap_or(UNKNOWN_SEQ),
        debug_mode: incoming.debug_mode.unwrap_or(false),
        priority: class,
        published_at: published_at.unwrap_or(now),
    }))
}

fn start(incoming: &Incoming<'_>) -> Result<StartWish, Defect> {
    let unreadable = |reason: &str| Err(Defect::Unreadable(reason.into()));
    let key = &incoming.execution_id;
    if key.is_empty() || key.chars().count() > MAX_KEY {
        return unreadable(&format!(
            "its execution_id must have 1 to {MAX_KEY} characters"
        ));
    }
    let Some(schema) = incoming.schema_id.as_deref().filter(|id| !id.is_empty()) else {
        return unreadable("it names no schema_id to start");
    };
    let context = match incoming
        .context
        .map(|context| serde_json::from_str(context.get()))
    {
        None => Map::new(),
        Some(Ok(Value::Object(context))) => context,
        Some(_) => return unreadable("its context is no object"),
    };
    Ok(StartWish {
        key: key.to_string(),
        schema: schema.to_owned(),
        context,
    })
}

/// Counts brackets outside of strings, before any parser recurses into them.
fn is_deeper_than(body: &[u8], limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

/// Reasons are read by people and kept in rows; what they quote came from a stranger.
pub(crate) fn shortened(text: &str) -> String {
    const LIMIT: usize = 300;
    match text.char_indices().nth(LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_123_456);
    const ID: &str = "0190b2c4-0000-7000-8000-000000000001";

    fn read_look(body: &str) -> Message {
        match decode(body.as_bytes(), PriorityClass::Low, false, NOW) {
            Ok(Wish::Look(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn defect(body: &[u8]) -> String {
        let refused = decode(body, PriorityClass::Normal, true, NOW).unwrap_err();
        refused.reason().to_owned()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let message = Message {
            execution_id: ID.parse().unwrap(),
            schema_id: SchemaId(Uuid::from_u128(7)),
            node_id: "käse \u{1f9c0} \"quoted\" \\ \u{0}".into(),
            seq: u64::MAX - 1,
            debug_mode: true,
            priority: PriorityClass::Low,
            published_at: NOW,
        };
        let body = encode(&message);
        assert_eq!(read_look(std::str::from_utf8(&body).unwrap()), message);
    }

    #[test]
    fn the_format_is_that_of_the_contract() {
        let message = Message {
            execution_id: ID.parse().unwrap(),
            schema_id: SchemaId(Uuid::nil()),
            node_id: "start".into(),
            seq: 3,
            debug_mode: false,
            priority: PriorityClass::Normal,
            published_at: NOW,
        };
        assert_eq!(
            String::from_utf8(encode(&message)).unwrap(),
            format!(
                "{{\"execution_id\":\"{ID}\",\"schema_id\":\"00000000-0000-0000-0000-000000000000\",\
                 \"current_node_id\":\"start\",\"seq\":3,\"debug_mode\":false,\
                 \"published_at\":\"2027-01-15T08:00:00.123456Z\"}}"
            )
        );
    }

    #[test]
    fn only_the_id_is_needed() {
        let message = read_look(&format!("{{\"execution_id\":\"{ID}\",\"more\":[1,{{}}]}}"));
        assert_eq!(message.execution_id.to_string(), ID);
        assert_eq!(message.seq, u64::MAX);
        assert_eq!(message.published_at, NOW);
        assert_eq!(message.priority, PriorityClass::Low);
        let nulls = format!(
            "{{\"execution_id\":\"{ID}\",\"seq\":null,\"published_at\":null,\"action\":null,\"schema_id\":\"by name\"}}"
        );
        assert_eq!(read_look(&nulls).seq, u64::MAX);
    }

    #[test]
    fn garbage_has_a_reason() {
        let deep = format!(
            "{{\"execution_id\":\"{ID}\",\"x\":{}{}}}",
            "[".repeat(64),
            "]".repeat(64)
        );
        let cases: [(&[u8], &str); 11] = [
            (b"", "no message"),
            (b"\xff\xfe\x00", "no message"),
            (b"[]", "no message"),
            (b"{\"execution_id\":5}", "invalid type: integer `5`"),
            (b"{\"seq\":1}", "missing field `execution_id`"),
            (b"{\"execution_id\":\"nope\"}", "\"nope\" is no UUID"),
            (b"{\"execution_id\":\"x\",\"seq\":-1}", "invalid value"),
            (
                b"{\"execution_id\":\"x\",\"action\":\"dance\"}",
                "\"dance\" is unknown",
            ),
            (&vec![b' '; MAX_BYTES + 1], "65537 bytes"),
            (deep.as_bytes(), "deeper than 64"),
            (&vec![b'['; MAX_BYTES], "deeper than 64"),
        ];
        for (body, expected) in cases {
            let reason = defect(body);
            assert!(reason.contains(expected), "{reason} for {expected}");
            assert!(reason.chars().count() < 400, "{reason}");
        }
    }

    #[test]
    fn brackets_in_strings_are_no_depth() {
        let brackets = "[{".repeat(500);
        let message = read_look(&format!(
            "{{\"execution_id\":\"{ID}\",\"x\":\"\\\"{brackets}\"}}"
        ));
        assert_eq!(message.execution_id.to_string(), ID);
    }

    #[test]
    fn other_programs_start_and_resume_where_allowed() {
        let body = br#"{"execution_id":"order 7","schema_id":"ship","action":"start","context":{"a":[1]}}"#;
        let Ok(Wish::Start(wish)) = decode(body, PriorityClass::Normal, true, NOW) else {
            panic!("not a start");
        };
        assert_eq!(
            (wish.key.as_str(), wish.schema.as_str()),
            ("order 7", "ship")
        );
        assert_eq!(wish.context["a"][0], 1);
        let refused = decode(body, PriorityClass::Normal, false, NOW).unwrap_err();
        assert!(matches!(&refused, Defect::Unwanted(reason) if reason.contains("accept_external")));
        let resume = format!("{{\"execution_id\":\"{ID}\",\"action\":\"resume\"}}");
        let wish = decode(resume.as_bytes(), PriorityClass::High, true, NOW).unwrap();
        assert!(matches!(wish, Wish::Look(message) if message.seq == u64::MAX));
    }

    #[test]
    fn a_start_that_says_too_little_is_refused() {
        let long = format!(
            "{{\"execution_id\":\"{}\",\"schema_id\":\"s\",\"action\":\"start\"}}",
            "x".repeat(201)
        );
        for (body, expected) in [
            (r#"{"execution_id":"k","action":"start"}"#, "schema_id"),
            (
                r#"{"execution_id":"","schema_id":"s","action":"start"}"#,
                "1 to 200",
            ),
            (
                r#"{"execution_id":"k","schema_id":"s","action":"start","context":[]}"#,
                "no object",
            ),
            (long.as_str(), "1 to 200"),
        ] {
            let reason = defect(body.as_bytes());
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn a_dead_letter_says_whether_it_is_a_start() {
        let body = br#"{"execution_id":"k","schema_id":"ship","action":"start","context":{"a":1}}"#;
        let wish = StartWish::read(body).unwrap().unwrap();
        assert_eq!((wish.key.as_str(), wish.schema.as_str()), ("k", "ship"));
        let short = br#"{"execution_id":"k","action":"start"}"#;
        assert!(StartWish::read(short).unwrap_err().contains("schema_id"));
        let look = format!("{{\"execution_id\":\"{ID}\"}}");
        for other in [look.as_bytes(), b"\xff", b"", br#"{"action":"start"}"#] {
            assert_eq!(StartWish::read(other), Ok(None));
        }
    }

    /// Whatever is done to a message, reading it ends with an answer.
    #[test]
    fn damaged_messages_never_cause_a_panic() {
        let whole = format!(
            "{{\"execution_id\":\"{ID}\",\"schema_id\":\"ship\",\"action\":\"start\",\"seq\":12,\
             \"published_at\":\"2027-01-15T08:00:00Z\",\"context\":{{\"a\":[1,\"\\u00e4\"]}}}}"
        );
        let mut state = 1_u64;
        let mut draw = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % limit
        };
        let mut read = 0;
        for _ in 0..50_000 {
            let mut body = whole.clone().into_bytes();
            for _ in 0..=draw(4) {
                let at = draw(body.len());
                match draw(3) {
                    0 => body[at] = draw(256) as u8,
                    1 => drop(body.remove(at)),
                    _ => body.truncate(at + 8),
                }
            }
            read += usize::from(decode(&body, PriorityClass::High, true, NOW).is_ok());
            let _ = execution_of(&body);
        }
        assert!(
            read > 1_000,
            "only {read} could be read: the damage is too great to find anything"
        );
    }

    #[test]
    fn dead_letters_name_their_execution_if_they_can() {
        let body = format!("{{\"execution_id\":\"{ID}\"}}");
        assert_eq!(execution_of(body.as_bytes()), ID.parse().ok());
        let body = format!("{{\"execution_id\":\"{ID}\",\"seq\":-1}}");
        assert_eq!(execution_of(body.as_bytes()), ID.parse().ok());
        assert_eq!(execution_of(b"{\"execution_id\":\"x\"}"), None);
        assert_eq!(execution_of(b"\xff"), None);
    }
}
