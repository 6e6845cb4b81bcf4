//! The only way to stdout and stderr, and what the terminal at their other end can do.
//!
//! Nothing here panics when the reader has gone: a closed pipe comes back as an error that ends the
//! command quietly.

use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use super::failure::Done;
use super::text;

/// Writes text as it is.
pub(super) fn print(text: &str) -> Done {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a line.
pub(super) fn say(line: &str) -> Done {
    print(&format!("{line}\n"))
}

pub(super) fn print_json(value: &Value) -> Done {
    say(&text::json(value))
}

/// Writes a line to stderr. A closed stderr is no reason to stop.
pub(super) fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a prompt to stderr, so that stdout stays clean for data.
pub(super) fn prompt(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Colours, if the output is a terminal and the user has not switched them off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style(bool);

impl Style {
    pub(super) fn stdout() -> Self {
        Self(io::stdout().is_terminal() && colours_wanted())
    }

    pub(super) fn stderr() -> Self {
        Self(io::stderr().is_terminal() && colours_wanted())
    }

    pub(super) fn is_on(self) -> bool {
        self.0
    }

    pub(super) fn paint(self, colour: Colour, text: &str) -> String {
        match (self.0, colour) {
            (false, _) | (_, Colour::Plain) => text.to_owned(),
            (true, colour) => format!("\x1b[{}m{text}\x1b[0m", colour as u8),
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint(Colour::Bold, text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint(Colour::Dim, text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint(Colour::Red, text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint(Colour::Green, text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

/// The colour of an execution's or a step's status.
pub(super) fn status_colour(status: &str) -> Colour {
    match status {
        "completed" | "success" => Colour::Green,
        "failed" | "failed_stuck" => Colour::Red,
        "stopped" | "paused" | "waiting_debug" => Colour::Yellow,
        "skipped" => Colour::Dim,
        _ => Colour::Cyan,
    }
}

fn colours_wanted() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of the terminal on stdout. `None`: no terminal, nothing to fit into.
pub(super) fn width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        if !io::stdout().is_terminal() {
            return None;
        }
        const NARROWEST: usize = 40;
        Some(
            from_environment()
                .or_else(from_stty)
                .unwrap_or(100)
                .max(NARROWEST),
        )
    })
}

fn from_environment() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Asking the kernel needs unsafe code or another crate; `stty` has both.
fn from_stty() -> Option<usize> {
    let terminal = std::fs::File::open("/dev/tty").ok()?;
    let output = Command::new("stty")
        .arg("size")
        .stdin(terminal)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8(output.stdout)
        .ok()?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}
