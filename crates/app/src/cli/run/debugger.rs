//! `pawl run --debug`: asks after every step what to do. Prompts go to stderr, orders come from stdin.

use std::io::BufRead;

use pawl_kernel::lifecycle::ContinueMode;
use pawl_kernel::ports::store::ExecutionView;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::super::terminal::{self, Style};
use super::super::{source, text};

const KEYS: &str = "[Enter] step  c run  t NODE  v name=json  q stop";

pub(super) struct Debugger {
    lines: mpsc::Receiver<String>,
    /// Variables to change with the next order.
    edits: Map<String, Value>,
}

pub(super) enum Order {
    Go {
        mode: ContinueMode,
        variables: Map<String, Value>,
    },
    Stop,
}

/// What one line asks for.
enum Line {
    Go(ContinueMode),
    Set(String, Value),
    Stop,
    Unclear(String),
}

impl Debugger {
    /// Reads stdin on a thread of its own: such a read cannot be cancelled, and must not block other tasks.
    pub(super) fn start() -> Self {
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            lines,
            edits: Map::new(),
        }
    }

    pub(super) async fn ask(&mut self, view: &ExecutionView) -> Order {
        loop {
            self.prompt(view);
            // No more input: no further orders can come.
            let Some(line) = self.lines.recv().await else {
                return Order::Stop;
            };
            match understand(&line) {
                Line::Go(mode) => {
                    return Order::Go {
                        mode,
                        variables: self.edits.clone(),
                    };
                }
                Line::Set(name, value) => {
                    terminal::complain(&format!(
                        "  variables.{name} = {}",
                        text::brief(&value, 60)
                    ));
                    self.edits.insert(name, value);
                }
                Line::Stop => return Order::Stop,
                Line::Unclear(reason) => terminal::complain(&format!("  {}", text::clean(&reason))),
            }
        }
    }

    fn prompt(&self, view: &ExecutionView) {
        let style = Style::stderr();
        let next = text::clean(&view.state.position.node_id);
        terminal::prompt(&format!(
            "{} {}  {} ",
            style.dim("next:"),
            style.bold(&next),
            style.dim(&format!("{KEYS} >"))
        ));
    }

    /// The order was carried out, and the edits with it.
    pub(super) fn done(&mut self) {
        self.edits.clear();
    }

    pub(super) fn refused(&self, reason: &str) {
        terminal::complain(&format!("  {}", text::clean(reason)));
    }
}

fn understand(line: &str) -> Line {
    let (order, rest) = line
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((line.trim(), ""));
    match (order, rest.trim()) {
        ("" | "s" | "step", "") => Line::Go(ContinueMode::Step),
        ("c" | "run", "") => Line::Go(ContinueMode::Run),
        ("q" | "stop", "") => Line::Stop,
        ("t", "") => Line::Unclear("t needs the id of a node, like `t http_1`".into()),
        ("t", node) => Line::Go(ContinueMode::Until(vec![node.to_owned()])),
        ("v", assignment) => match source::variable(assignment) {
            Ok((name, value)) => Line::Set(name, value),
            Err(reason) => Line::Unclear(reason),
        },
        _ => Line::Unclear(format!(
            "Unknown command `{}`. Commands: {KEYS}",
            text::cut(line.trim(), 40)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders() {
        assert!(matches!(understand(""), Line::Go(ContinueMode::Step)));
        assert!(matches!(understand(" c "), Line::Go(ContinueMode::Run)));
        assert!(
            matches!(understand("t  http_1"), Line::Go(ContinueMode::Until(nodes)) if nodes == ["http_1"])
        );
        assert!(matches!(understand("v a = [1, 2]"), Line::Set(name, _) if name == "a"));
        assert!(matches!(understand("q"), Line::Stop));
        for unclear in ["t", "v", "v a", "v a=b", "x", "c now", "\u{1b}[A"] {
            assert!(matches!(understand(unclear), Line::Unclear(_)), "{unclear}");
        }
    }
}
