//! How a run looks while it goes on: one line per step, with logs and waits in between.

use pawl_kernel::execution::{EDIT_NODE, LogRecord, Step, StepStatus, Wait, WaitKind};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::time::Timestamp;

use super::super::failure::Done;
use super::super::terminal::{self, Colour, Style};
use super::super::text;
use super::parsed;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Stdout,
    Stderr,
    Nowhere,
}

pub(super) struct Screen {
    target: Target,
    style: Style,
    id_width: usize,
    type_width: usize,
    width: usize,
    /// The wait or retry that was shown last: each is shown once.
    noticed: Option<String>,
}

const NAME_WIDTH_MAX: usize = 24;
const WIDTH_WITHOUT_TERMINAL: usize = 160;

impl Screen {
    pub(super) fn new(target: Target, definition: &Definition) -> Self {
        let widest = |lengths: &mut dyn Iterator<Item = usize>| {
            lengths.max().unwrap_or(0).min(NAME_WIDTH_MAX)
        };
        let nodes = &definition.nodes;
        Self {
            target,
            style: if target == Target::Stderr {
                Style::stderr()
            } else {
                Style::stdout()
            },
            id_width: widest(&mut nodes.iter().map(|node| node.id.chars().count())),
            type_width: widest(&mut nodes.iter().map(|node| node.node_type.chars().count())),
            width: terminal::width().unwrap_or(WIDTH_WITHOUT_TERMINAL),
            noticed: None,
        }
    }

    pub(super) fn title(&self, schema: &str, id: ExecutionId) -> Done {
        self.line(&format!(
            "{} {}",
            self.style.bold(schema),
            self.style.dim(&id.to_string())
        ))
    }

    pub(super) fn step(&self, step: &Step) -> Done {
        let (mark, colour) = match step.status {
            StepStatus::Success => ("✓", Colour::Green),
            StepStatus::Failed => ("✗", Colour::Red),
            StepStatus::Skipped => ("○", Colour::Dim),
        };
        let took = text::duration(step.finished_at.since(step.started_at));
        let fixed = format!(
            "{:>4}  {}  {}  ",
            step.seq,
            padded(&step.node_id, self.id_width),
            self.style.dim(&padded(&step.node_type, self.type_width)),
        );
        let used = 4 + 2 + self.id_width + 2 + self.type_width + 2 + 1 + 2 + 8 + 2;
        let room = self.width.saturating_sub(used).max(20);
        let mark = self.style.paint(colour, mark);
        self.line(&format!(
            "{fixed}{mark}  {took:>8}  {}",
            self.result(step, room)
        ))
    }

    /// The output, the error, or what a person changed.
    fn result(&self, step: &Step, room: usize) -> String {
        if step.error.is_some() {
            return self
                .style
                .red(&text::error(&parsed(step.error.as_deref()), room));
        }
        let shown = match (&*step.node_id, &*step.node_type) {
            (EDIT_NODE, _) => step.changes.as_deref(),
            // The line it wrote follows anyway.
            (_, "log") => None,
            _ => step.output.as_deref(),
        };
        self.style.dim(&text::output(&parsed(shown), room))
    }

    pub(super) fn log(&self, line: &LogRecord) -> Done {
        let colour = match line.level {
            "error" => Colour::Red,
            "warn" => Colour::Yellow,
            "debug" => Colour::Dim,
            _ => Colour::Cyan,
        };
        let level = self.style.paint(colour, &format!("{:<5}", line.level));
        self.line(&format!(
            "      {level} {}",
            text::clean(&line.message).replace('\n', "\n            ")
        ))
    }

    /// Why it does not move, once for each reason.
    pub(super) fn notice(&mut self, view: &ExecutionView, now: Timestamp) -> Done {
        let Some((key, sentence)) = blocked(view, now) else {
            return Ok(());
        };
        if self.noticed.as_ref() == Some(&key) {
            return Ok(());
        }
        self.noticed = Some(key);
        self.line(&self.style.paint(
            Colour::Yellow,
            &format!("      … {}", text::cut(&sentence, 300)),
        ))
    }

    fn line(&self, line: &str) -> Done {
        match self.target {
            Target::Stdout => terminal::say(line.trim_end()),
            Target::Stderr => {
                terminal::complain(line.trim_end());
                Ok(())
            }
            Target::Nowhere => Ok(()),
        }
    }
}

fn padded(name: &str, width: usize) -> String {
    format!("{:<width$}", text::cut(name, width))
}

/// A key that changes with every new wait, and a sentence.
fn blocked(view: &ExecutionView, now: Timestamp) -> Option<(String, String)> {
    let state = &view.state;
    let node = &state.position.node_id;
    if view.execution.head.status.is_terminal() {
        return None;
    }
    if let Some(wait) = &state.wait {
        return Some((wait.id.to_string(), waiting(view, wait, now)));
    }
    let at = state
        .position
        .not_before
        .filter(|_| state.position.attempt > 0)?;
    Some((
        format!("{node}/{}/{}", state.seq, state.position.attempt),
        retrying(view, Some(at), now),
    ))
}

fn waiting(view: &ExecutionView, wait: &Wait, now: Timestamp) -> String {
    let node = &view.state.position.node_id;
    let until = wait
        .wake_at
        .map(|at| format!(" until {}", when(at, now)))
        .unwrap_or_default();
    match wait.kind {
        WaitKind::Sleep => format!("{node} sleeps{until}"),
        WaitKind::Retry => retrying(view, wait.wake_at, now),
        WaitKind::Event => format!(
            "{node} waits for the event `{}`{until}",
            wait.name.as_deref().unwrap_or("?")
        ),
        WaitKind::Children => format!("{node} waits for its children"),
        WaitKind::Start => format!("starts{until}"),
        WaitKind::Admission => "waits for a quota".to_owned(),
    }
}

fn retrying(view: &ExecutionView, at: Option<Timestamp>, now: Timestamp) -> String {
    let position = &view.state.position;
    let tries = parsed(position.attempts.as_deref());
    let error = tries
        .as_array()
        .and_then(|tries| tries.last())
        .map(|last| text::error(&last["error"], 120));
    let next = at
        .map(|at| format!("; next try {}", when(at, now)))
        .unwrap_or_default();
    format!(
        "{} failed in try {}: {}{next}",
        position.node_id,
        position.attempt,
        error.unwrap_or_default()
    )
}

fn when(at: Timestamp, now: Timestamp) -> String {
    let left = at.since(now);
    let moment = if left.as_secs() < 12 * 3_600 {
        text::clock_time(at)
    } else {
        text::local_time(at)
    };
    format!("{moment} (in {})", text::duration(left))
}
