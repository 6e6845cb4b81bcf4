//! `pawl executions events`: the event stream of one execution, line by line, until it ends.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::super::client::{self, Client};
use super::super::failure::{Done, Failure};
use super::super::terminal::{self, Style};
use super::super::text;
use super::{OneExecution, look};
use crate::wire::{Execution, Step};

/// A server that never ends a line must not fill our memory.
const LINE_BYTES_MAX: usize = 64 << 20;

/// One server-sent event.
#[derive(Debug, Default, PartialEq)]
struct Event {
    id: String,
    name: String,
    data: String,
}

pub(super) async fn follow(one: OneExecution, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let mut last = String::new();
    loop {
        let mut url = client.at(&["executions", &one.id, "events"]);
        if !last.is_empty() {
            url.query_pairs_mut().append_pair("after", &last);
        }
        let mut reader = Reader {
            body: client.stream(url).await?,
            parser: Parser::default(),
        };
        let before = last.clone();
        while let Some(event) = reader.next().await? {
            show(&event, json)?;
            last.clone_from(&event.id);
            if event.name == "end" {
                return Ok(());
            }
        }
        // A stream that breaks off is taken up again where it was; one that says nothing is over.
        if last == before {
            return Ok(());
        }
    }
}

fn show(event: &Event, json: bool) -> Done {
    let data: Value =
        serde_json::from_str(&event.data).unwrap_or_else(|_| event.data.clone().into());
    if json {
        let line = json!({"id": event.id, "event": event.name, "data": data});
        return terminal::say(&text::json_line(&line));
    }
    match event.name.as_str() {
        "step" => show_step(&client::read(&data)?),
        "end" => {
            terminal::say("")?;
            look::describe(&client::read(&data)?)
        }
        _ => show_status(&client::read(&data)?),
    }
}

fn show_step(step: &Step<'_>) -> Done {
    let style = Style::stdout();
    let shown = painted(step.status.as_str());
    let took = text::between(step.started_at, step.finished_at);
    let (node, kind) = (text::line(&step.node_id), text::line(&step.node_type));
    let names = format!("{node} {}", style.dim(&kind));
    let result = text::cut(&look::result(step), 120);
    let line = format!("{:>4}  {names} {shown} {took}  {result}", step.seq);
    terminal::say(line.trim_end())
}

fn show_status(execution: &Execution<'_>) -> Done {
    let error = match &execution.last_error {
        None => String::new(),
        Some(error) => format!(": {}", text::error(&error.value(), 200)),
    };
    let shown = painted(execution.status.as_str());
    let node = text::line(&execution.current_node_id);
    terminal::say(&format!("      … {shown} at {node}{error}"))
}

fn painted(status: &str) -> String {
    Style::stdout().paint(terminal::status_colour(status), &text::line(status))
}

struct Reader {
    body: Incoming,
    parser: Parser,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame
                .map_err(|error| Failure::failed(format!("the event stream broke off: {error}")))?;
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            self.parser.feed(&bytes).map_err(Failure::failed)?;
        }
    }
}

#[derive(Default)]
struct Parser {
    bytes: Vec<u8>,
    event: Event,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.bytes.len() + bytes.len() > LINE_BYTES_MAX {
            return Err("the event stream has a line that never ends".into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole event, if all of it has come.
    fn next(&mut self) -> Option<Event> {
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if !event.data.is_empty() {
                    return Some(event);
                }
                continue;
            }
            self.take_line(line);
        }
        None
    }

    fn take_line(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.event.id = value.to_owned(),
            "event" => self.event.name = value.to_owned(),
            "data" if self.event.data.is_empty() => self.event.data = value.to_owned(),
            "data" => self.event.data.push_str(&format!("\n{value}")),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_in_any_pieces() {
        let text =
            ": hello\n\nid: 3\nevent: step\ndata: {\"a\": 1}\n\nevent: end\r\ndata: {}\r\n\r\n";
        for size in [1, 2, 7, 1_000] {
            let mut parser = Parser::default();
            let mut found = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                parser.feed(piece).unwrap();
                found.extend(std::iter::from_fn(|| parser.next()));
            }
            let names: Vec<&str> = found.iter().map(|event| event.name.as_str()).collect();
            assert_eq!(names, ["step", "end"], "{size}");
            assert_eq!(
                (found[0].id.as_str(), found[0].data.as_str()),
                ("3", "{\"a\": 1}")
            );
        }
    }
}
