//! Commands that change something, and the body that flags amount to.

use http::Method;
use pawl_kernel::time::parse_duration;
use serde_json::{Map, Value, json};

use super::super::client::{self, Client, Content};
use super::super::failure::{Done, Failure};
use super::super::{source, terminal, text};
use super::words;
use super::{OneAction, PutArgs, WhatArgs, WhenArgs};
use crate::system::SystemClock;
use crate::wire::ScheduledAction;
use pawl_kernel::time::Clock as _;

pub(super) async fn put(args: PutArgs, json: bool) -> Done {
    let mut body = body(&args)?;
    if let (Some(mode), Value::Object(fields)) = (&args.mode, &mut body) {
        fields.insert("override".into(), json!(mode));
    }
    let client = Client::new(&args.server)?;
    let url = client.at(&["scheduled-actions", &args.id]);
    let answer = client.ask(Method::PUT, url, Content::Json(body)).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let action: ScheduledAction = client::read(&answer)?;
    terminal::say(&format!(
        "{}: {}, {}",
        text::line(&action.id),
        words::schedule(&action.spec),
        words::next(&action)
    ))
}

fn body(args: &PutArgs) -> Result<Value, Failure> {
    let has_flags = args.when.is_given() || args.what.is_given();
    match &args.file {
        Some(_) if has_flags => Err(Failure::bad_input(
            "give a file, or flags that say when and what, not both",
        )),
        Some(file) => source::document(file),
        None => {
            let policy = args.when.policy(args.retries)?;
            let mut spec = json!({"policy": policy, "action": args.what.action()?});
            if let Some(at) = args.when.start_at()? {
                spec["start_at"] = json!(at);
            }
            Ok(json!({"spec": spec}))
        }
    }
}

impl WhenArgs {
    pub(super) fn is_given(&self) -> bool {
        [&self.at, &self.after, &self.every, &self.cron]
            .into_iter()
            .any(Option::is_some)
    }

    pub(super) fn policy(&self, retries: Option<u32>) -> Result<Value, Failure> {
        let mut fields = Map::new();
        if let Some(retries) = retries {
            fields.insert("retry".into(), json!({"max_retries": retries}));
        }
        let kind = match (&self.every, &self.cron) {
            (Some(period), _) => {
                fields.insert("period".into(), json!(period));
                "periodic"
            }
            (None, Some(line)) => {
                fields.insert("expr".into(), json!(line));
                if let Some(zone) = &self.timezone {
                    fields.insert("timezone".into(), json!(zone));
                }
                "cron"
            }
            (None, None) if self.is_given() => "once",
            (None, None) => {
                return Err(Failure::bad_input(
                    "when? give a file, or one of --at TIME, --in 5m, --every 1h, --cron '0 9 * * *'",
                ));
            }
        };
        Ok(json!({kind: fields}))
    }

    pub(super) fn start_at(&self) -> Result<Option<String>, Failure> {
        let Some(after) = &self.after else {
            return Ok(self.at.clone());
        };
        let wait = parse_duration(after)
            .map_err(|reason| Failure::bad_input(format!("--in: {reason}")))?;
        Ok(Some(SystemClock.now().plus(wait).to_string()))
    }
}

impl WhatArgs {
    fn is_given(&self) -> bool {
        self.start.is_some() || self.callback.is_some()
    }

    fn action(&self) -> Result<Value, Failure> {
        match (&self.start, &self.callback) {
            (Some(schema), _) => {
                let input = value("--input", self.input.as_deref())?;
                Ok(json!({"start_execution": {"schema": schema, "input": input}}))
            }
            (None, Some(url)) => self.call(url),
            (None, None) => Err(Failure::bad_input(
                "nothing to do: give a FILE, --start SCHEMA or --callback URL",
            )),
        }
    }

    fn call(&self, url: &str) -> Result<Value, Failure> {
        let mut headers = Map::new();
        for header in &self.headers {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                Failure::bad_input(format!("--header: `{header}` is none; write 'Name: value'"))
            })?;
            headers.insert(name.trim().to_owned(), json!(value.trim()));
        }
        let body = value("--body", self.body.as_deref())?;
        let mut call = json!({"url": url, "headers": headers, "body": body});
        if let Some(method) = &self.method {
            call["method"] = json!(method.to_uppercase());
        }
        Ok(json!({"http_callback": call}))
    }
}

fn value(flag: &str, argument: Option<&str>) -> Result<Value, Failure> {
    argument.map_or(Ok(Value::Null), |text| source::json_argument(flag, text))
}

pub(super) async fn delete(one: OneAction, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let url = client.at(&["scheduled-actions", &one.id]);
    let answer = client.ask(Method::DELETE, url, Content::None).await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("deleted {}", text::clean(&one.id))),
    }
}

pub(super) async fn command(one: OneAction, verb: &str, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let path = ["scheduled-actions", &one.id, verb];
    let answer = client.post(&path, Content::None).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let action: ScheduledAction = client::read(&answer)?;
    let (id, state) = (text::line(&action.id), words::state(&action));
    terminal::say(&format!("{id}: {state}, {}", words::next(&action)))
}
