//! What people and programs outside may do to an execution, without a token.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{derive_status, end, stopped, touched};
use crate::execution::{Control, DebugMode, Edit, Head, Hold, Signal, State, Status, WaitKind};
use crate::time::Timestamp;
use crate::transition::Change;

#[derive(Clone, Debug)]
pub enum Command {
    Pause,
    Resume,
    Stop,
    Signal(Signal),
    /// Stand still in the debugger, once the node that it is at is done.
    Debug,
    Continue {
        mode: ContinueMode,
        variables: Map<String, Value>,
        expect_seq: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContinueMode {
    Step,
    Run,
    /// Before the first of these nodes that it comes to.
    Until(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such execution")]
    NotFound,
    #[error("the execution has ended as {}", .0.name())]
    Ended(Status),
    #[error("the execution is {}, not paused", .0.name())]
    NotPaused(Status),
    #[error("the execution waits for the debugger; use continue")]
    InDebugger,
    #[error("the execution is {}, it does not wait for the debugger", .0.name())]
    NotInDebugger(Status),
    #[error("the execution stands after step {at}, not after step {expected}")]
    OtherSeq { at: u64, expected: u64 },
}

/// `Ok(None)`: it is so already, nothing to write. `signal_known`: a signal with this id is stored.
pub fn command(
    head: &Head,
    state: &State,
    command: &Command,
    signal_known: bool,
    now: Timestamp,
) -> Result<Option<Change>, Refusal> {
    if let Command::Stop = command {
        return stop(head, state, now);
    }
    if head.status.is_terminal() {
        return Err(Refusal::Ended(head.status));
    }
    let mut change = Change::of(touched(state, now));
    let changed = match command {
        Command::Pause => pause(&mut change.state),
        Command::Resume => resume(head, &mut change.state, now)?,
        Command::Signal(signal) => !signal_known && deliver(&mut change, signal),
        Command::Debug => debug(head, &mut change.state, now),
        Command::Continue {
            mode,
            variables,
            expect_seq,
        } => {
            check_debugger(head, state, *expect_seq, now)?;
            enter_now(&mut change.state, now);
            edit(&mut change, variables, now);
            go_on(&mut change.state, mode)
        }
        Command::Stop => false,
    };
    if !changed {
        return Ok(None);
    }
    settle(head, state, &mut change, now);
    Ok(Some(change))
}

fn stop(head: &Head, state: &State, now: Timestamp) -> Result<Option<Change>, Refusal> {
    match head.status {
        Status::Stopped => return Ok(None),
        status if status.is_terminal() => return Err(Refusal::Ended(status)),
        _ => {}
    }
    let mut change = Change::of(touched(state, now));
    change.state.control = Some(Control::Stop);
    if !state.has_live_lease(now) {
        end(&mut change, stopped(), now);
    }
    Ok(Some(change))
}

fn pause(state: &mut State) -> bool {
    let changed = state.hold != Some(Hold::Pause);
    state.hold = Some(Hold::Pause);
    changed
}

/// Back from a pause, a debugged execution is in the debugger's hands again, unless it still waits.
fn resume(head: &Head, state: &mut State, now: Timestamp) -> Result<bool, Refusal> {
    match state.hold {
        Some(Hold::Pause) => {}
        Some(Hold::Debug) => return Err(Refusal::InDebugger),
        None => {
            return Err(Refusal::NotPaused(derive_status(head, state, now)));
        }
    }
    let stepping = state.debug == DebugMode::Step && head.has_begun(state);
    state.hold = (stepping && state.wait.is_none()).then_some(Hold::Debug);
    Ok(true)
}

/// From here on it stops after every step, as if it had been started so. What has begun ends first: a worker's node, a
/// wait. Where nothing is under way it stands still at once.
fn debug(head: &Head, state: &mut State, now: Timestamp) -> bool {
    if state.hold == Some(Hold::Debug) {
        return false;
    }
    let was_stepping = state.debug == DebugMode::Step;
    state.debug = DebugMode::Step;
    let idle = state.lease.is_none() && state.wait.is_none();
    if idle && head.has_begun(state) {
        state.hold = Some(Hold::Debug);
        if !was_stepping {
            // Its wait may be over already; the position was not entered for the debugger.
            state.position.not_before.get_or_insert(now);
        }
        return true;
    }
    !was_stepping
}

fn deliver(change: &mut Change, signal: &Signal) -> bool {
    change.state.inbox += 1;
    let expected = change.state.wait.as_ref().is_some_and(|wait| {
        wait.kind == WaitKind::Event && wait.name.as_deref() == Some(signal.name.as_str())
    });
    if expected {
        change.state.wait = None;
    }
    change.signal = Some(signal.clone());
    true
}

fn check_debugger(
    head: &Head,
    state: &State,
    expect_seq: Option<u64>,
    now: Timestamp,
) -> Result<(), Refusal> {
    if let Some(expected) = expect_seq.filter(|expected| *expected != state.seq) {
        return Err(Refusal::OtherSeq {
            at: state.seq,
            expected,
        });
    }
    if state.hold != Some(Hold::Debug) || state.wait.is_some() || state.has_live_lease(now) {
        return Err(Refusal::NotInDebugger(derive_status(head, state, now)));
    }
    Ok(())
}

/// Variables that a person changed: another request, so it has another key.
fn edit(change: &mut Change, variables: &Map<String, Value>, now: Timestamp) {
    if variables.is_empty() {
        return;
    }
    let state = &mut change.state;
    state.seq += 1;
    // An effect that a crash may have left half done keeps its key: the other side must recognise it.
    if let Some(key) = state
        .position
        .effect_key
        .as_mut()
        .filter(|_| !state.interrupted)
    {
        *key = crate::effect::key(state.execution_id, state.seq + 1);
    }
    let edit = Edit {
        variables: variables.clone(),
        input: None,
    };
    change.steps = Arc::new(vec![edit.step(state.seq, &state.position, now)]);
}

/// The time a person looked at the screen is not the node's: it is entered now, unless it was begun before, here or in
/// the execution that this one retries.
fn enter_now(state: &mut State, now: Timestamp) {
    let begun = state.position.attempt > 0 || state.position.not_before.is_some();
    if !begun && !state.interrupted && !state.repeats_an_effect() {
        state.position.entered_at = now;
    }
}

fn go_on(state: &mut State, mode: &ContinueMode) -> bool {
    state.hold = None;
    state.debug = match mode {
        ContinueMode::Step => DebugMode::Step,
        ContinueMode::Run => DebugMode::Off,
        ContinueMode::Until(nodes) => DebugMode::Until(nodes.clone()),
    };
    true
}

/// Stores the status that follows, unless there is a lease: then its holder's commit will, or the reaper. A message is due
/// only if this very write made the execution runnable; otherwise one is under way already.
fn settle(head: &Head, before: &State, change: &mut Change, now: Timestamp) {
    if change.state.lease.is_some() {
        return;
    }
    let status = derive_status(head, &change.state, now);
    if status != head.status {
        change.status = Some(status);
    }
    change.dispatch = change.state.is_runnable() && !before.is_runnable();
}
