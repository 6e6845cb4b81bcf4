//! The process in which scripts run: reads jobs from its standard input, answers on its standard output (the
//! protocol is at the head of `wire.rs`).
//!
//! Every job gets an engine and a realm of its own, made while the child would have waited. Before the first job
//! the child gives away whatever it can do without, see [`confine`]. It never decides that it is healthy: the pool
//! does, and kills it.

mod confine;
mod console;
mod failure;
mod link;
mod names;
mod output;
mod realm;

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use link::Link;
use realm::Realm;

use crate::Limits;
use crate::error::Code;
use crate::wire::{self, FailureFrame, Frame, Hello, Run};

/// The whole life of a child. Must be called before the process starts threads, and never returns to other work.
pub fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        // Only the parent could be told, and the pipe to it is what broke.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> std::io::Result<()> {
    let link = Rc::new(Link::new());
    let Some(first) = link.receive()? else {
        return Ok(());
    };
    if first.kind != wire::HELLO {
        return Err(link::unexpected(first.kind));
    }
    let hello: Hello = serde_json::from_slice(&first.body)?;
    match confine::confine(&hello.limits) {
        Ok(given_up) => link.send(&wire::message(wire::READY, &given_up)?)?,
        // Better no code at all than code that could reach out.
        Err(error) => {
            let why = format!("it could not confine itself: {error}");
            return link.send(&wire::message(
                wire::FAILED,
                &failure::plain(Code::Crashed, why),
            )?);
        }
    }
    loop {
        // Made before the job is there, so that no run waits for it.
        let realm = Realm::new(&hello.limits, &link);
        let Some(frame) = link.receive()? else {
            return Ok(());
        };
        link.send(&wire::frame(wire::TAKEN, &[])?)?;
        let answer = answer(realm.as_ref(), &frame, &hello.limits)?;
        link.send(&answer)?;
        // Only now: taking a large heap apart takes time.
        drop(realm);
    }
}

fn answer(
    realm: Result<&Realm, &FailureFrame>,
    frame: &Frame,
    limits: &Limits,
) -> std::io::Result<Vec<u8>> {
    let run: Run<'_> = serde_json::from_slice(&frame.body)?;
    confine::limit_cpu(Duration::from_millis(run.time_ms))?;
    let realm = match realm {
        Ok(realm) => realm,
        Err(failed) => return wire::message(wire::FAILED, failed),
    };
    let result = match frame.kind {
        wire::RUN => realm.run(run, limits),
        other => return Err(link::unexpected(other)),
    };
    match result {
        Ok(json) => wire::frame(wire::DONE, json.as_bytes()),
        Err(failed) => wire::message(wire::FAILED, &failed),
    }
}
