//! `console`: values as a person wants to read them, sent at once, so that they survive a child that is killed.

use std::cell::RefCell;

use rquickjs::{Coerced, Ctx, FromJs, Object, Value};

use super::failure::cut;
use super::link::Link;
use super::output::{Clock, Output};
use crate::wire::{self, ConsoleBudget, Room};
use crate::{LogLevel, LogLine};

/// Deep structures are for the output of the node, not for a line of a log.
const DEPTH_MAX: usize = 8;

pub(super) struct Console {
    budget: RefCell<ConsoleBudget>,
    bytes_max: usize,
}

impl Console {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            budget: RefCell::default(),
            bytes_max,
        }
    }

    pub(super) fn write<'js>(
        &self,
        ctx: &Ctx<'js>,
        link: &Link,
        level: LogLevel,
        values: &Object<'js>,
    ) -> rquickjs::Result<()> {
        let Some(left) = self.budget.borrow().left(self.bytes_max) else {
            return Ok(());
        };
        // This may run code that writes lines of its own, which are sent before this one.
        let message = line(ctx, values, left)?;
        let room = self.budget.borrow_mut().room(self.bytes_max);
        let line = match room {
            Room::None => return Ok(()),
            Room::LastWord => LogLine {
                level: LogLevel::Warn,
                message: wire::console_last_word(self.bytes_max),
            },
            Room::Some(bytes) => LogLine {
                level,
                message: cut(message, bytes),
            },
        };
        self.budget.borrow_mut().took(&line);
        let sent = wire::message(wire::LOG, &line).and_then(|bytes| link.send(&bytes));
        sent.map_err(rquickjs::Error::Io)
    }
}

fn line<'js>(ctx: &Ctx<'js>, values: &Object<'js>, bytes_max: usize) -> rquickjs::Result<String> {
    let count: usize = values.get("length")?;
    let mut line = String::new();
    for index in 0..count {
        if index > 0 {
            line.push(' ');
        }
        if line.len() >= bytes_max {
            break;
        }
        let value: Value<'js> = values.get(u32::try_from(index).unwrap_or(u32::MAX))?;
        line.push_str(&show(ctx, &value, bytes_max - line.len()));
    }
    Ok(cut(line, bytes_max))
}

/// A value as text. Reading it may run user code; what that throws is shown as a mark.
pub(super) fn show<'js>(ctx: &Ctx<'js>, value: &Value<'js>, bytes_max: usize) -> String {
    let text = if value.is_string() || value.is_number() || value.is_bool() {
        coerced(ctx, value)
    } else if value.is_null() {
        Some("null".to_owned())
    } else if value.is_undefined() {
        Some("undefined".to_owned())
    } else if value.is_function() {
        Some("[function]".to_owned())
    } else if value.is_symbol() {
        Some("[symbol]".to_owned())
    } else if value.is_big_int() {
        coerced(ctx, value).map(|digits| digits + "n")
    } else if value.is_error() {
        coerced(ctx, value)
    } else {
        Some(structure(ctx, value, bytes_max))
    };
    match text {
        Some(text) => cut(text, bytes_max),
        None => {
            ctx.catch();
            "[unreadable]".to_owned()
        }
    }
}

fn coerced<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Option<String> {
    Coerced::<String>::from_js(ctx, value.clone())
        .ok()
        .map(|Coerced(text)| text)
}

fn structure<'js>(ctx: &Ctx<'js>, value: &Value<'js>, bytes_max: usize) -> String {
    let mut output = Output::new(bytes_max, DEPTH_MAX, Clock::never());
    match output.write(ctx, value.clone()) {
        Ok(_) => output.into_text(),
        Err(_) => {
            if ctx.has_exception() {
                ctx.catch();
            }
            output.into_text() + " …"
        }
    }
}
