//! Messages as bytes. What we write is JSON; what we read may come from any program, so the reader is tolerant of what
//! is missing and strict about what it must rely on.

use std::borrow::Cow;
use std::fmt::Display;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::queue::Message;
use pawl_kernel::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use uuid::Uuid;

const MAX_DEPTH: usize = 64;
const START: &str = "start";
const RESUME: &str = "resume";

/// No row is that far, and a message ahead of its row means "the row is the truth": never a duplicate.
const UNKNOWN_SEQ: u64 = u64::MAX;

#[derive(Serialize)]
struct OutgoingMessage<'a> {
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
    let outgoing = OutgoingMessage {
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

/// The fields that mean something to us, as they stand there. All but the id and the action are hints, of which none
/// refuses a message: whatever cannot be used counts as left out.
#[derive(Deserialize)]
struct IncomingMessage<'a> {
    #[serde(borrow)]
    execution_id: Option<&'a RawValue>,
    #[serde(borrow)]
    schema_id: Option<&'a RawValue>,
    #[serde(borrow)]
    current_node_id: Option<&'a RawValue>,
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    debug_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    published_at: Option<&'a RawValue>,
    action: Option<Cow<'a, str>>,
}

/// What a message wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Wish {
    Look(Message),
    /// Another program wants an execution started. What it says about it is read by those who start it.
    Start,
}

/// Does this message, taken from the dead letters, ask for a start?
pub fn asks_for_start(body: &[u8]) -> bool {
    if is_deeper_than(body, MAX_DEPTH) {
        return false;
    }
    let read = serde_json::from_slice::<IncomingMessage<'_>>(body);
    read.is_ok_and(|incoming| incoming.action.as_deref() == Some(START))
}

/// Why a message cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// No installation could use it.
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

/// How messages are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) max_bytes: usize,
    /// Take what other programs wish.
    pub(crate) accept_external: bool,
}

impl Rules {
    /// `class` is that of the queue it came from, `now` stands in for a missing time.
    pub(crate) fn decode(
        self,
        body: &[u8],
        class: PriorityClass,
        now: Timestamp,
    ) -> Result<Wish, Defect> {
        let incoming: IncomingMessage<'_> = self.read(body).map_err(Defect::Unreadable)?;
        match incoming.action.as_deref() {
            None => look(&incoming, class, now),
            Some(RESUME) if self.accept_external => look(&incoming, class, now),
            Some(START) if self.accept_external => Ok(Wish::Start),
            Some(START | RESUME) => Err(Defect::Unwanted(
                "messages of other programs are not accepted here; set broker.accept_external to take them".into(),
            )),
            Some(other) => Err(Defect::Unreadable(format!(
                "the action {} is unknown; there are \"start\" and \"resume\"",
                shortened(&format!("{other:?}"))
            ))),
        }
    }

    fn read<'a, T: Deserialize<'a>>(self, body: &'a [u8]) -> Result<T, String> {
        if body.len() > self.max_bytes {
            return Err(format!(
                "it has {} bytes, at most {} are read (setting limits.request_body)",
                body.len(),
                self.max_bytes
            ));
        }
        if is_deeper_than(body, MAX_DEPTH) {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        serde_json::from_slice(body)
            .map_err(|error| format!("it is no message: {}", shortened(&error.to_string())))
    }
}

/// The execution that a dead letter is about, if it says so at all.
pub(crate) fn execution_of(body: &[u8]) -> Option<ExecutionId> {
    #[derive(Deserialize)]
    struct OnlyId<'a> {
        #[serde(borrow)]
        execution_id: Cow<'a, str>,
    }
    if is_deeper_than(body, MAX_DEPTH) {
        return None;
    }
    let only: OnlyId<'_> = serde_json::from_slice(body).ok()?;
    only.execution_id.parse().ok()
}

fn look(
    incoming: &IncomingMessage<'_>,
    class: PriorityClass,
    now: Timestamp,
) -> Result<Wish, Defect> {
    let Some(written) = incoming.execution_id else {
        return Err(Defect::Unreadable("it has no execution_id".into()));
    };
    let execution_id: ExecutionId = text(Some(written))
        .and_then(|id| id.parse().ok())
        .ok_or_else(|| {
            let shown = shortened(written.get());
            Defect::Unreadable(format!("its execution_id {shown} is no UUID"))
        })?;
    let schema_id = text(incoming.schema_id).and_then(|id| id.parse().ok());
    let published_at = text(incoming.published_at);
    let published_at = published_at.as_deref().and_then(Timestamp::parse);
    Ok(Wish::Look(Message {
        execution_id,
        schema_id: schema_id.unwrap_or(SchemaId(Uuid::nil())),
        node_id: text(incoming.current_node_id).unwrap_or_default().into(),
        seq: hint(incoming.seq).unwrap_or(UNKNOWN_SEQ),
        debug_mode: hint(incoming.debug_mode).unwrap_or(false),
        priority: class,
        published_at: published_at.unwrap_or(now),
    }))
}

fn hint<'a, T: Deserialize<'a>>(written: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(written?.get()).ok()
}

/// Without a copy, unless there is something escaped in it.
fn text(written: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);
    hint::<BorrowedText<'_>>(written).map(|text| text.0)
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

    const MAX_BYTES: usize = 64 * 1024;
    const OURS: Rules = Rules {
        max_bytes: MAX_BYTES,
        accept_external: false,
    };
    const OPEN: Rules = Rules {
        max_bytes: MAX_BYTES,
        accept_external: true,
    };

    fn read_look(body: &str) -> Message {
        match OURS.decode(body.as_bytes(), PriorityClass::Low, NOW) {
            Ok(Wish::Look(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    fn defect(body: &[u8]) -> String {
        let refused = OPEN.decode(body, PriorityClass::Normal, NOW).unwrap_err();
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

    /// As other programs write it, by the letter.
    #[test]
    fn a_message_with_a_number_for_its_schema_is_a_look() {
        let message = read_look(&format!(
            "{{\"execution_id\":\"{ID}\",\"schema_id\":123,\"current_node_id\":\"start\",\"debug_mode\":false}}"
        ));
        assert_eq!(message.execution_id.to_string(), ID);
        assert_eq!(message.schema_id, SchemaId(Uuid::nil()));
        assert_eq!(&*message.node_id, "start");
    }

    #[test]
    fn hints_refuse_nothing_whatever_their_type() {
        let hints = [
            "schema_id",
            "current_node_id",
            "seq",
            "debug_mode",
            "published_at",
        ];
        for hint in hints {
            for value in [
                "null",
                "true",
                "-1",
                "1.5",
                "1e300",
                "\"\"",
                "\"x\\u0000\"",
                "[]",
                "[[1]]",
                "{}",
                "{\"a\":1}",
                "18446744073709551616",
            ] {
                let body = format!("{{\"execution_id\":\"{ID}\",\"{hint}\":{value}}}");
                let message = read_look(&body);
                assert_eq!(message.execution_id.to_string(), ID, "{body}");
                assert_eq!(message.seq, UNKNOWN_SEQ, "{body}");
            }
        }
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
            (b"{\"execution_id\":5}", "execution_id 5 is no UUID"),
            (b"{\"seq\":1}", "no execution_id"),
            (b"{\"execution_id\":\"nope\"}", "\"nope\" is no UUID"),
            (b"{\"execution_id\":\"x\",\"action\":1}", "invalid type"),
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
        let body =
            br#"{"execution_id":"order 7","schema_id":123,"action":"start","context":{"a":[1]}}"#;
        let wish = OPEN.decode(body, PriorityClass::Normal, NOW);
        assert_eq!(wish, Ok(Wish::Start));
        let refused = OURS.decode(body, PriorityClass::Normal, NOW).unwrap_err();
        assert!(matches!(&refused, Defect::Unwanted(reason) if reason.contains("accept_external")));
        let resume = format!("{{\"execution_id\":\"{ID}\",\"action\":\"resume\"}}");
        let wish = OPEN.decode(resume.as_bytes(), PriorityClass::High, NOW);
        assert!(matches!(wish, Ok(Wish::Look(message)) if message.seq == u64::MAX));
    }

    #[test]
    fn a_dead_letter_says_whether_it_is_a_start() {
        assert!(asks_for_start(br#"{"execution_id":7,"action":"start"}"#));
        let look = format!("{{\"execution_id\":\"{ID}\"}}");
        let deep = format!("{{\"action\":\"start\",\"x\":{}", "[".repeat(100_000));
        for other in [
            look.as_bytes(),
            b"\xff",
            b"",
            br#"{"action":"dance"}"#,
            deep.as_bytes(),
        ] {
            assert!(!asks_for_start(other));
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
            read += usize::from(OPEN.decode(&body, PriorityClass::High, NOW).is_ok());
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
