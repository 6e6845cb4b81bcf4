//! The pipe between the pool and a child.
//!
//! A frame is a length (u32, little endian, of all that follows), one byte that says what it is, and a body in
//! JSON. One exchange:
//!
//! ```text
//! parent                                child
//!   h  hello {limits}           →
//!                               ←         R  ready, confined: a list of what it gave up
//!   r  run {source, now, …}     →
//!                               ←         t  taken: from here on the code may have run
//!                               ←         n  need ["context","steps","a"]      any number of times
//!   v  a value                  →
//!                               ←         l  log {level, message}              any number of times
//!                               ←         d  done: the result      or  f  failed {code, message, …}
//! ```
//!
//! A value is `[0]` if there is none, `[1, value]`, or, for an object too large to send unasked,
//! `[2, [["small", value], ["large"]]]`: members without a value are asked for when the code touches them. `V`
//! instead of `v` says that it holds integers which a JavaScript number cannot hold.
//!
//! The end of the pipe ends the child. Anything unexpected from a child gets it killed.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::Code;
use crate::{Limits, LogLine};

pub(crate) const HELLO: u8 = b'h';
pub(crate) const READY: u8 = b'R';
pub(crate) const RUN: u8 = b'r';
pub(crate) const TAKEN: u8 = b't';
pub(crate) const NEED: u8 = b'n';
pub(crate) const VALUE: u8 = b'v';
pub(crate) const EXACT_VALUE: u8 = b'V';
pub(crate) const LOG: u8 = b'l';
pub(crate) const DONE: u8 = b'd';
pub(crate) const FAILED: u8 = b'f';

pub(crate) const HEADER_BYTES: usize = 5;
/// A child believes its parent, but a length is read before anything else is known.
pub(crate) const FROM_PARENT_BYTES_MAX: usize = 64 << 20;

/// The largest integer that every JavaScript number holds exactly.
pub(crate) const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Entries of one run's console; short lines are not free either.
pub(crate) const LOG_LINES_MAX: usize = 1_000;
/// The text of a thrown error beyond this is cut.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) limits: Limits,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Run<'a> {
    #[serde(borrow)]
    pub(crate) source: std::borrow::Cow<'a, str>,
    pub(crate) now_ms: i64,
    pub(crate) seed: u64,
    pub(crate) time_ms: u64,
    /// Small answers to questions that the source looks like asking.
    pub(crate) given: Vec<ReplyFrame>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ReplyFrame {
    /// As in a need, without spaces.
    pub(crate) path: String,
    pub(crate) reply: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct FailureFrame {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) name: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    pub(crate) stack: Vec<String>,
    /// Thrown by the code, or by an engine without memory for an error: who sees the memory of the process knows.
    pub(crate) maybe_memory: bool,
}

/// The bytes of a frame around a body that is JSON already.
pub(crate) fn frame(kind: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(body.len() + 1)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a frame over 4 GiB"))?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(body);
    Ok(bytes)
}

pub(crate) fn message<T: Serialize>(kind: u8, body: &T) -> io::Result<Vec<u8>> {
    frame(kind, &serde_json::to_vec(body)?)
}

/// Length of the body and kind, from the first bytes of a frame.
pub(crate) fn header(bytes: [u8; HEADER_BYTES], bytes_max: usize) -> io::Result<(usize, u8)> {
    let [a, b, c, d, kind] = bytes;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length == 0 || length > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes, at most {bytes_max} are allowed"),
        ));
    }
    Ok((length - 1, kind))
}

/// Keeps console output within its limits; used on both ends, because a child may lie.
#[derive(Default)]
pub(crate) struct ConsoleBudget {
    bytes: usize,
    lines: usize,
    cut: bool,
}

pub(crate) enum Room {
    /// Take it, up to this many bytes.
    Some(usize),
    /// The first that does not fit: say so, once.
    LastWord,
    None,
}

impl ConsoleBudget {
    /// Bytes that a line could have now; `None` if there is nothing more to say, not even the last word.
    pub(crate) fn left(&self, bytes_max: usize) -> Option<usize> {
        (!self.cut).then(|| bytes_max.saturating_sub(self.bytes))
    }

    pub(crate) fn room(&mut self, bytes_max: usize) -> Room {
        if self.cut {
            return Room::None;
        }
        if self.bytes >= bytes_max || self.lines >= LOG_LINES_MAX {
            self.cut = true;
            return Room::LastWord;
        }
        Room::Some(bytes_max - self.bytes)
    }

    pub(crate) fn took(&mut self, line: &LogLine) {
        self.bytes += line.message.len();
        self.lines += 1;
    }
}

/// The line that stands for those left out.
pub(crate) fn console_last_word(bytes_max: usize) -> String {
    format!(
        "more console output was left out: a run may write {bytes_max} bytes in {LOG_LINES_MAX} lines"
    )
}
