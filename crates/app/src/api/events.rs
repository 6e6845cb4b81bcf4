//! The life of one execution as server-sent events: `step`, `status`, `end`, and `log` for clients that want it.
//!
//! An event's id is a version of the execution and says: everything up to this version has been told. Steps of
//! one commit share a version, so all but the last event of a version carry the one before it; a client that
//! comes back with such an id hears that version again from its start, and misses nothing.
//!
//! Nothing is polled: hints wake the stream, and a slow re-read, together with a comment that keeps the
//! connection open, covers a hint that was lost.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use pawl_engine::Watcher;
use pawl_kernel::execution::{Control, Hold, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::LogLevel;
use pawl_kernel::ports::history::LogQuery;
use pawl_kernel::ports::store::ExecutionView;
use serde::Serialize;
use uuid::Uuid;

use super::ApiState;
use super::error::{ApiError, ApiResult};
use super::executions::header_text;
use super::history::{self, Portion, Stretch};
use super::path::PathParts;
use super::query::Query;
use crate::wire;

/// Steps read at once; a commit rarely has more.
const PAGE: usize = 200;
/// Log lines read at once.
const LINES: u32 = 50;

pub(super) async fn events(
    State(state): State<ApiState>,
    path: PathParts,
    query: Query,
    headers: HeaderMap,
) -> ApiResult {
    let id = path.execution()?;
    let seen = last_seen(&query, &headers)?;
    let mut feed = Feed::open(&state, id, seen, Shape::Own).await?;
    if query.flag("logs")? {
        feed.tell_logs().await?;
    }
    if feed.nothing_left {
        // Tells an EventSource that there is nothing to come back for.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let stream = stream::unfold(feed, |mut feed| async {
        let chunk = feed.next().await?;
        Some((Ok::<_, Infallible>(chunk), feed))
    });
    Ok(answer(stream))
}

/// A stream of events.
pub(super) fn answer(
    stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(stream));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    // Proxies that collect answers would hold the events back.
    let direct = HeaderName::from_static("x-accel-buffering");
    response
        .headers_mut()
        .insert(direct, HeaderValue::from_static("no"));
    response
}

/// `Last-Event-ID` is what a browser sends when it comes back; `after` is for all other clients.
fn last_seen(query: &Query, headers: &HeaderMap) -> ApiResult<u64> {
    let after = query.whole("after")?;
    match header_text(headers, &HeaderName::from_static("last-event-id"))? {
        Some(text) => text.parse().map_err(|_| {
            ApiError::invalid_header("Last-Event-ID must be the id of an event of this stream")
        }),
        None => Ok(after.unwrap_or(0)),
    }
}

/// The last step that a client who has seen version `seen` knows: versions grow with seq, so it is searched for.
async fn resume_at(state: &ApiState, view: &ExecutionView, seen: u64) -> ApiResult<u64> {
    let (mut known, mut unknown) = (view.execution.head.base_seq, view.state.seq + 1);
    if seen == 0 {
        return Ok(known);
    }
    while unknown - known > 1 {
        let middle = known + (unknown - known) / 2;
        let step = state
            .store()
            .steps(view.execution.head.id, middle - 1, 1)
            .await?
            .pop();
        match step {
            Some((_, version)) if version <= seen => known = middle,
            _ => unknown = middle,
        }
    }
    Ok(known)
}

/// What a `status` event is sent for when it changes.
#[derive(PartialEq)]
struct StatusSnapshot {
    status: Status,
    hold: Option<Hold>,
    control: Option<Control>,
    wait: Option<Uuid>,
    /// A node that failed and is tried again has told why.
    attempt: u32,
}

impl StatusSnapshot {
    fn of(view: &ExecutionView) -> Self {
        let state = &view.state;
        let wait = state.wait.as_ref().map(|wait| wait.id);
        Self {
            status: view.execution.head.status,
            hold: state.hold,
            control: state.control,
            wait,
            attempt: state.position.attempt,
        }
    }
}

/// How the events of an execution are written.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// In a stream of their own.
    Own,
    /// Among others: each says which execution it is about. `brief`: without payloads.
    Shared { brief: bool },
}

pub(super) struct Feed {
    state: ApiState,
    id: ExecutionId,
    shape: Shape,
    pub(super) watcher: Watcher,
    after_seq: u64,
    /// What the client was told last.
    told: Option<StatusSnapshot>,
    pub(super) ready: VecDeque<Bytes>,
    pub(super) over: bool,
    /// When it was opened, the execution had ended and the client knew.
    nothing_left: bool,
    /// The last log line that was told or was there before; `None`: lines are not wanted.
    last_line: Option<u64>,
}

impl Feed {
    /// What came after version `seen`.
    pub(super) async fn open(
        state: &ApiState,
        id: ExecutionId,
        seen: u64,
        shape: Shape,
    ) -> ApiResult<Self> {
        // Watched before the first look, so that no change falls between the two.
        let watcher = state.runtime().hints.watch(id);
        let view = state.control.view(id).await?;
        let is_known = seen >= view.state.version;
        let has_ended = view.execution.head.status.is_terminal();
        let after_seq = resume_at(state, &view, seen).await?;
        Ok(Self {
            state: state.clone(),
            id,
            shape,
            watcher,
            after_seq,
            // An end is told once more, or the client would wait for it.
            told: (is_known && !has_ended).then(|| StatusSnapshot::of(&view)),
            ready: VecDeque::new(),
            over: false,
            nothing_left: is_known && has_ended,
            last_line: None,
        })
    }

    /// From now on: lines that are there already are read otherwise, page by page.
    pub(super) async fn tell_logs(&mut self) -> ApiResult<()> {
        let newest = LogQuery {
            id: self.id,
            beyond: None,
            least: LogLevel::Debug,
            node_id: None,
            newest_first: true,
            limit: 1,
        };
        let newest = self.state.store().log_page(newest).await?;
        self.last_line = Some(newest.first().map_or(0, |(number, _)| *number));
        Ok(())
    }

    /// Lines come with the steps that wrote them, so only then it is looked.
    async fn look_at_log(&mut self) -> ApiResult<()> {
        while let Some(last) = self.last_line {
            let lines = self.state.store().logs(self.id, last, LINES).await?;
            for line in &lines {
                self.last_line = Some(line.0);
                let line = wire::LogLine::from(line);
                let event = match self.shape {
                    Shape::Own => event(None, "log", &line)?,
                    Shape::Shared { .. } => {
                        let id = self.id.0;
                        event(None, "log", &wire::LogEvent { id, line })?
                    }
                };
                self.ready.push_back(event);
            }
            if lines.len() < LINES as usize {
                break;
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some(chunk);
            }
            if self.over || self.state.stop.is_cancelled() {
                return None;
            }
            if let Err(error) = self.look().await {
                // The client comes back by itself with the last id it saw.
                tracing::warn!(execution_id = %self.id, error = error.message(), "an event stream broke off");
                return None;
            }
            if self.ready.is_empty() && !self.over {
                self.rest().await;
            }
        }
    }

    /// Waits for a change. A comment is due if none came.
    async fn rest(&mut self) {
        tokio::select! {
            _ = self.watcher.changed() => {}
            () = self.state.stop.cancelled() => {}
            () = tokio::time::sleep(self.state.limits.reread) => {
                self.ready.push_back(Bytes::from_static(b": still here\n\n"));
            }
        }
    }

    /// Reads what is new. The row comes first: steps of later commits wait for the next look, so that ids never
    /// promise more than was told.
    pub(super) async fn look(&mut self) -> ApiResult<()> {
        let view = self.state.control.view(self.id).await?;
        let version = view.state.version;
        let portion = Portion {
            steps: PAGE,
            bytes: self.state.limits.page_bytes,
        };
        let Stretch { mut steps, more } =
            history::stretch(&self.state, self.id, self.after_seq, portion).await?;
        steps.retain(|(_, written)| *written <= version);
        let standing = StatusSnapshot::of(&view);
        let news = !more && self.told.as_ref() != Some(&standing);
        let versions: Vec<u64> = steps.iter().map(|(_, written)| *written).collect();
        let ids = event_ids(&versions, more, news.then_some(version));
        for ((step, _), event_id) in steps.iter().zip(ids) {
            self.after_seq = step.seq;
            self.tell("step", event_id, wire::Step::from(step))?;
        }
        if !versions.is_empty() {
            self.look_at_log().await?;
        }
        if news {
            self.over = view.execution.head.status.is_terminal();
            let name = if self.over { "end" } else { "status" };
            self.tell(name, version, wire::Execution::from(&view))?;
            self.told = Some(standing);
        }
        Ok(())
    }

    fn tell<'a>(
        &mut self,
        kind: &'static str,
        version: u64,
        about: impl Occurrence<'a>,
    ) -> ApiResult<()> {
        let event = match self.shape {
            Shape::Own => event(Some(version), kind, &about)?,
            Shape::Shared { brief } => {
                let told = about.among_others(self.id, kind, version, brief);
                event(None, "run", &told)?
            }
        };
        self.ready.push_back(event);
        Ok(())
    }
}

/// What an event is about, as it stands among those of other executions.
trait Occurrence<'a>: Serialize {
    fn among_others(
        self,
        id: ExecutionId,
        kind: &'static str,
        version: u64,
        brief: bool,
    ) -> wire::RunEvent<'a>;
}

impl<'a> Occurrence<'a> for wire::Step<'a> {
    fn among_others(
        self,
        id: ExecutionId,
        kind: &'static str,
        version: u64,
        brief: bool,
    ) -> wire::RunEvent<'a> {
        let step = if brief { self.brief() } else { self };
        wire::RunEvent {
            step: Some(step),
            ..wire::RunEvent::new(id, kind, version)
        }
    }
}

impl<'a> Occurrence<'a> for wire::Execution<'a> {
    fn among_others(
        self,
        id: ExecutionId,
        kind: &'static str,
        version: u64,
        brief: bool,
    ) -> wire::RunEvent<'a> {
        let execution = if brief { self.without_output() } else { self };
        wire::RunEvent {
            execution: Some(execution),
            ..wire::RunEvent::new(id, kind, version)
        }
    }
}

/// One event as it is sent. JSON has no raw line breaks, so one data line holds it.
pub(super) fn event(id: Option<u64>, name: &str, data: &impl Serialize) -> ApiResult<Bytes> {
    let data = serde_json::to_string(data).map_err(ApiError::internal)?;
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    Ok(format!("{id}event: {name}\ndata: {data}\n\n").into())
}

/// The id of each step's event: its version if nothing of that version follows, else the one before.
fn event_ids(versions: &[u64], more: bool, followed_by: Option<u64>) -> Vec<u64> {
    let followers = versions
        .iter()
        .copied()
        .skip(1)
        .map(Some)
        .chain([followed_by]);
    let last = versions.len();
    let open = |index: usize| more && index + 1 == last;
    let id = |(index, (version, follower)): (usize, (&u64, Option<u64>))| {
        if follower == Some(*version) || open(index) {
            version - 1
        } else {
            *version
        }
    };
    versions.iter().zip(followers).enumerate().map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::event_ids;

    #[test]
    fn an_id_never_promises_more_than_was_told() {
        assert_eq!(event_ids(&[2, 2, 3], false, None), [1, 2, 3]);
        assert_eq!(event_ids(&[2, 3, 3], false, Some(3)), [2, 2, 2]);
        assert_eq!(event_ids(&[2, 3], false, Some(4)), [2, 3]);
        assert_eq!(event_ids(&[2, 3], true, None), [2, 2]);
        assert!(event_ids(&[], false, Some(1)).is_empty());
    }
}
