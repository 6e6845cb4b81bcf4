//! How a command ends when it does not end well, and what that means for the exit code.

use std::io;
use std::process::ExitCode;

use pawl_kernel::input::{InputProblems, TOLD_MAX};
use serde::Deserialize;
use serde_json::Value;

use super::terminal::{self, Style};
use super::text;
use crate::wire::{DiagnosticLine, ErrorBody};

pub(super) type Done = Result<(), Failure>;

#[derive(Debug)]
pub(super) enum Failure {
    /// What the caller gave cannot be used: exit 2.
    BadInput(String),
    /// The input is not what the schema wants: exit 2.
    Unfit(InputProblems),
    /// It could not be done: exit 1.
    Failed(String),
    /// The server said no.
    Refused { status: u16, body: Value },
    /// Everything there is to say was said: just the exit code.
    Said(u8),
    /// The reader of our output has closed it, as in `pawl … | head`. It got what it wanted.
    PipeClosed,
}

impl Failure {
    pub(super) fn bad_input(message: impl Into<String>) -> Self {
        Self::BadInput(message.into())
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// Only for writing to the terminal; other errors of the system say what was being done.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::PipeClosed,
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<pawl_kernel::ports::store::StoreError> for Failure {
    fn from(error: pawl_kernel::ports::store::StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<pawl_engine::control::ControlError> for Failure {
    fn from(error: pawl_engine::control::ControlError) -> Self {
        match error {
            pawl_engine::control::ControlError::Invalid { message, .. } => Self::BadInput(message),
            pawl_engine::control::ControlError::InvalidInput(problems) => Self::Unfit(problems),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Says what went wrong and turns it into the exit code.
pub(super) fn exit_code(result: Done, json: bool) -> ExitCode {
    let code = match result {
        Ok(()) | Err(Failure::PipeClosed) => 0,
        Err(Failure::Said(code)) => code,
        Err(Failure::BadInput(message)) => complain(&message, 2),
        Err(Failure::Unfit(problems)) => unfit(&problems),
        Err(Failure::Failed(message)) => complain(&message, 1),
        Err(Failure::Refused { status, body }) => refused(status, &body, json),
    };
    ExitCode::from(code)
}

fn complain(message: &str, code: u8) -> u8 {
    let style = Style::stderr();
    terminal::complain(&format!("{} {}", style.red("error:"), text::clean(message)));
    code
}

/// The first line names the first problems; if there are more, all of them follow.
fn unfit(problems: &InputProblems) -> u8 {
    let code = complain(&problems.to_string(), 2);
    let lines = problems.list.iter();
    list_problems(lines.map(|problem| (problem.pointer.as_str(), problem.message.as_str())));
    code
}

fn list_problems<'a>(problems: impl ExactSizeIterator<Item = (&'a str, &'a str)>) {
    if problems.len() <= TOLD_MAX {
        return;
    }
    for (pointer, message) in problems {
        let line = match pointer {
            "" => message.to_owned(),
            pointer => format!("{pointer}: {message}"),
        };
        terminal::complain(&format!("  {}", text::clean(&line)));
    }
}

fn refused(status: u16, body: &Value, json: bool) -> u8 {
    let code = if matches!(status, 400 | 413 | 415 | 422) {
        2
    } else {
        1
    };
    if json {
        // Writing can only fail because the reader is gone; the exit code still tells.
        let _ = terminal::print_json(body);
        return code;
    }
    match ErrorBody::deserialize(body) {
        Ok(said) => complain(&format!("{} ({})", said.message, said.error), code),
        Err(_) => complain(&format!("the server answered {status}"), code),
    };
    for found in diagnostics(&body["details"]) {
        terminal::complain(&text::diagnostic_line(&found));
    }
    let problems = body["details"]["problems"].as_array();
    let lines = problems.map_or(&[][..], Vec::as_slice).iter();
    list_problems(lines.map(|one| (text_of(one, "pointer"), text_of(one, "message"))));
    code
}

fn text_of<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The problems of a document, if that is what the details are.
fn diagnostics(details: &Value) -> Vec<DiagnosticLine> {
    let list = details.as_array().into_iter().flatten();
    list.filter_map(|entry| DiagnosticLine::deserialize(entry).ok())
        .collect()
}
