//! One child process seen from the pool: what is sent to it, how much is believed of what comes back, and its end.

use std::io;
use std::time::Duration;

use pawl_kernel::json;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::data;
use crate::pool::Job;
use crate::spawner::ChildSpawner;
use crate::wire::{self, ConsoleBudget, FailureFrame, Frame, Hello, Room};
use crate::{Limits, LogLevel, LogLine};

/// Starting takes milliseconds; on a machine in trouble it takes longer.
const START_TIME_MAX: Duration = Duration::from_secs(10);
/// Beside results and lines of the console: the frame of an error.
const FRAME_BYTES_EXTRA: usize = 256 << 10;
/// What one byte of text can become in JSON.
const ESCAPED_BYTES_MAX: usize = 6;
/// A path has as many steps as data are deep, and names of sane length.
const PATH_STEPS_MAX: usize = 256;

/// A child that waits for work. Dropping it kills it.
pub(crate) struct Process {
    child: Option<Child>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    frame_bytes_max: usize,
    pub(crate) runs: u32,
    pub(crate) resident_bytes_first: Option<u64>,
    /// When it was ready, before its first job.
    resident_bytes_start: u64,
}

/// How an exchange ended, other than with a result.
pub(crate) enum End {
    /// The script failed; the child is well.
    Failed(FailureFrame),
    /// The child died, or did what no child of ours does.
    Broken(String),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        match is_end(&error) {
            true => Self::Broken("the child process died".to_owned()),
            false => Self::Broken(error.to_string()),
        }
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe
    )
}

impl From<serde_json::Error> for End {
    fn from(error: serde_json::Error) -> Self {
        Self::Broken(format!("the child process sent what is no JSON: {error}"))
    }
}

impl Process {
    pub(crate) async fn start(spawner: &ChildSpawner, limits: &Limits) -> io::Result<Self> {
        let started = tokio::time::timeout(START_TIME_MAX, Self::greeted(spawner, limits)).await;
        started.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn greeted(spawner: &ChildSpawner, limits: &Limits) -> io::Result<Self> {
        let mut child = spawner.start().await?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a child without pipes"));
        };
        let mut process = Self {
            child: Some(child),
            input,
            output: BufReader::new(output),
            frame_bytes_max: limits.output_bytes
                + limits.console_bytes * ESCAPED_BYTES_MAX
                + FRAME_BYTES_EXTRA,
            runs: 0,
            resident_bytes_first: None,
            resident_bytes_start: 0,
        };
        let hello = Hello {
            limits: limits.clone(),
        };
        process
            .send(&wire::message(wire::HELLO, &hello)?)
            .await
            .map_err(never_ready)?;
        let ready = process.receive().await.map_err(never_ready)?;
        match ready.kind {
            wire::READY => {
                let given_up = String::from_utf8_lossy(&ready.body);
                tracing::debug!(id = process.id(), %given_up, "a script child is ready");
                process.resident_bytes_start = process.resident_bytes().unwrap_or(0);
                Ok(process)
            }
            wire::FAILED => {
                let failed: FailureFrame = serde_json::from_slice(&ready.body)?;
                Err(io::Error::other(failed.message))
            }
            _ => Err(io::Error::other("it does not know the greeting")),
        }
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    /// It may have died while it was idle.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Hands a job over. An error says that nothing of it was run.
    pub(crate) async fn begin(&mut self, job: &[u8]) -> io::Result<()> {
        self.runs += 1;
        self.send(job).await?;
        match self.receive().await?.kind {
            wire::TAKEN => Ok(()),
            _ => Err(io::Error::other("it does not take jobs")),
        }
    }

    /// The run that was begun, to its end. Not bounded in time, and not to be resumed: a caller that stops
    /// waiting drops the process.
    pub(crate) async fn attend(
        &mut self,
        job: &Job<'_>,
        limits: &Limits,
        logs: &mut Vec<LogLine>,
    ) -> Result<Value, End> {
        let mut console = ConsoleBudget::default();
        loop {
            let frame = self.receive().await?;
            match frame.kind {
                wire::NEED => self.provide(&frame, job).await?,
                wire::LOG => keep(&frame, &mut console, limits, logs)?,
                wire::DONE => return checked(&frame.body, limits),
                wire::FAILED => return Err(End::Failed(serde_json::from_slice(&frame.body)?)),
                other => {
                    let shown = char::from(other);
                    return Err(End::Broken(format!(
                        "the child process sent a frame of kind {shown:?}"
                    )));
                }
            }
        }
    }

    async fn provide(&mut self, frame: &Frame, job: &Job<'_>) -> Result<(), End> {
        let path: Vec<String> = serde_json::from_slice(&frame.body)?;
        if path.len() > PATH_STEPS_MAX {
            return Err(End::Broken(
                "the child process asked for nonsense".to_owned(),
            ));
        }
        let reply = {
            let found = data::find(job.data.as_ref(), &path);
            match found.as_deref() {
                Some(value) if !data::is_small(value) => aside(|| data::reply(Some(value)))?,
                found => data::reply(found)?,
            }
        };
        let kind = match reply.exact {
            true => wire::EXACT_VALUE,
            false => wire::VALUE,
        };
        Ok(self.send(&wire::frame(kind, &reply.body)?).await?)
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.write_all(bytes).await
    }

    async fn receive(&mut self) -> io::Result<Frame> {
        let mut start = [0; wire::HEADER_BYTES];
        self.output.read_exact(&mut start).await?;
        let (length, kind) = wire::header(start, self.frame_bytes_max)?;
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).await?;
        Ok(Frame { kind, body })
    }

    /// Whether it has ever held as much memory as one run may have. A child does not live on after a run that did.
    pub(crate) fn was_full(&self, memory_bytes: usize) -> bool {
        let peak = self.peak_bytes().unwrap_or(0);
        let used = peak.saturating_sub(self.resident_bytes_start);
        used >= memory_bytes as u64 / 10 * 9
    }

    fn peak_bytes(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id()?)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }

    /// Memory that the process really holds; `None` where the system does not tell.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let id = self.id()?;
        let text = std::fs::read_to_string(format!("/proc/{id}/statm")).ok()?;
        let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // An id is there as long as no `wait` has reaped the process, so it cannot be another process's.
        let group = child
            .id()
            .and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            // It may be dead already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        // Waited for, so that no zombie is left. Without a runtime, dropping it does the same later.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { child.wait().await });
        }
    }
}

/// Megabytes of text are not made while others wait for the thread, where there are others to take them over.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

fn never_ready(error: io::Error) -> io::Error {
    match is_end(&error) {
        true => io::Error::other("it ended before it was ready"),
        false => error,
    }
}

fn keep(
    frame: &Frame,
    console: &mut ConsoleBudget,
    limits: &Limits,
    logs: &mut Vec<LogLine>,
) -> Result<(), End> {
    let line: LogLine = serde_json::from_slice(&frame.body)?;
    match console.room(limits.console_bytes) {
        Room::Some(_) => {
            console.took(&line);
            logs.push(line);
            Ok(())
        }
        Room::LastWord => {
            logs.push(LogLine {
                level: LogLevel::Warn,
                message: wire::console_last_word(limits.console_bytes),
            });
            Ok(())
        }
        // A child of ours stops by itself.
        Room::None => Err(End::Broken(
            "the child process floods its console".to_owned(),
        )),
    }
}

/// The child has checked its result; code that took the child over has not.
fn checked(body: &[u8], limits: &Limits) -> Result<Value, End> {
    let broken = |problem: String| End::Broken(format!("the child process sent {problem}"));
    let value = json::read(body).map_err(|error| broken(format!("no JSON to keep: {error}")))?;
    if body.len() > limits.output_bytes || !fits(&value, limits.depth) {
        return Err(broken("more than a result may be".to_owned()));
    }
    Ok(value)
}

fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|item| fits(item, levels - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child of ours sends none of what is refused here; one that was taken over may.
    #[test]
    fn policy_of_results() {
        let cases = include_str!("../../../tests/json_policy.json");
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let body = case["text"].as_str().unwrap().as_bytes();
            match (checked(body, &Limits::default()), case.get("kept")) {
                (Ok(value), Some(kept)) => assert_eq!(&value, kept, "{case}"),
                (Err(End::Broken(_)), None) => {}
                (read, _) => panic!("{case}: taken: {}", read.is_ok()),
            }
        }
    }
}
