//! The people and programs outside, one task for each order: they start it and do to it what they have in mind.
//! Whatever was not answered they ask again, under the same key.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::api::Api;
use crate::now;
use crate::orders::{Order, Treatment, Verb};
use crate::rng::Rng;
use crate::wire::Answer;

/// Between two looks at an execution that the debugger waits for.
const LOOK: Duration = Duration::from_millis(50);

/// An order after everything was done to it, and answers that must never be given.
pub(crate) struct Handled {
    pub(crate) order: Order,
    pub(crate) problems: Vec<String>,
}

/// Handles all orders side by side; returns when everything was answered.
pub(crate) fn begin(api: &Api, orders: Vec<Order>, patience: Duration) -> JoinSet<Handled> {
    let mut tasks = JoinSet::new();
    for order in orders {
        let mut hand = Hand {
            api: api.clone(),
            accepted: Instant::now(),
            deadline: Instant::now() + patience,
            problems: Vec::new(),
            order,
        };
        tasks.spawn(async move {
            hand.handle().await;
            Handled {
                order: hand.order,
                problems: hand.problems,
            }
        });
    }
    tasks
}

/// Sends what was kept back, at the end of the storm.
pub(crate) async fn release(api: &Api, order: Order, patience: Duration) -> Handled {
    let mut hand = Hand {
        api: api.clone(),
        accepted: Instant::now(),
        deadline: Instant::now() + patience,
        problems: Vec::new(),
        order,
    };
    if hand.order.signals.is_empty() {
        hand.command(Verb::Resume).await;
    }
    hand.send_signals().await;
    Handled {
        order: hand.order,
        problems: hand.problems,
    }
}

struct Hand {
    api: Api,
    order: Order,
    accepted: Instant,
    deadline: Instant,
    problems: Vec<String>,
}

impl Hand {
    async fn handle(&mut self) {
        tokio::time::sleep(self.order.starts_after).await;
        if !self.start(201).await {
            return;
        }
        self.accepted = Instant::now();
        match self.order.treatment {
            Treatment::Undisturbed => self.send_signals().await,
            Treatment::AskedTwice => {
                self.start(200).await;
                self.send_signals().await;
            }
            Treatment::Paused { after, for_long } => {
                self.at(after).await;
                if self.command(Verb::Pause).await {
                    self.send_signals().await;
                    self.at(after + for_long).await;
                    self.command(Verb::Resume).await;
                }
            }
            Treatment::Stopped { after } => {
                self.at(after).await;
                self.command(Verb::Stop).await;
            }
            Treatment::Debugged => self.debug().await,
            Treatment::Kept if self.order.signals.is_empty() => {
                self.command(Verb::Pause).await;
            }
            Treatment::Kept => {}
        }
    }

    async fn at(&self, after: Duration) {
        tokio::time::sleep(after.saturating_sub(self.accepted.elapsed())).await;
    }

    async fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
        let answer = self.api.ask(method, path, body, self.deadline).await;
        if answer.is_none() {
            self.complain(format!("{method} {path} was not answered in time"));
        }
        answer
    }

    fn complain(&mut self, what: String) {
        self.problems.push(format!("{what}; {:?}", self.order));
    }

    /// `expected`: 201 for the first time, 200 for another; a first answer that got lost makes a 200 of the second.
    async fn start(&mut self, expected: u16) -> bool {
        let body = self.order.body();
        let Some(answer) = self.ask("POST", "/api/executions", Some(&body)).await else {
            return false;
        };
        let id = answer.body["id"].as_str().map(str::to_owned);
        let fits = (answer.status == expected || answer.status == 200) && id.is_some();
        let same = self.order.id.is_none() || self.order.id == id;
        if !fits || !same {
            self.complain(format!("a start was answered {answer:?}"));
            return false;
        }
        self.order.id = id;
        true
    }

    fn path(&self, what: &str) -> String {
        format!(
            "/api/executions/{}{what}",
            self.order.id.as_deref().unwrap()
        )
    }

    /// `false`: the execution had ended, or was not as the command needs it (or an earlier try was heard).
    async fn command(&mut self, verb: Verb) -> bool {
        let path = self.path(&format!("/{}", verb.name()));
        match self.ask("POST", &path, None).await {
            Some(answer) if answer.status == 200 => {
                self.order.answered.push((verb, now()));
                true
            }
            Some(answer) if answer.status != 409 => {
                self.complain(format!("{path} was answered {answer:?}"));
                false
            }
            _ => false,
        }
    }

    async fn send_signals(&mut self) {
        for signal in self.order.signals.clone() {
            self.at(signal.after).await;
            let path = self.path(&format!("/signals/go?id={}", signal.id.replace('/', "%2F")));
            // 409: it has ended, by its deadline or because the answer to an earlier try got lost.
            match self.ask("POST", &path, Some(&signal.payload)).await {
                Some(answer) if !matches!(answer.status, 202 | 200 | 409) => {
                    self.complain(format!("a signal was answered {answer:?}"));
                }
                _ => {}
            }
        }
    }

    /// Steps, edits, runs on; now and then with a double click, which must do one step only.
    async fn debug(&mut self) {
        let mut rng = Rng(self.order.seed);
        loop {
            let path = self.path("");
            let Some(shown) = self.ask("GET", &path, None).await else {
                return;
            };
            if !shown.body["finished_at"].is_null() {
                return;
            }
            if shown.body["status"] != "waiting_debug" {
                if Instant::now() >= self.deadline {
                    return self.complain("the debugger waits for ever".into());
                }
                tokio::time::sleep(LOOK).await;
                continue;
            }
            let mut wish = json!({"mode": "step", "expect_seq": shown.body["seq"]});
            match rng.between(0, 9) {
                0 => wish["variables"] = json!({"edited": shown.body["seq"]}),
                1 => wish["mode"] = json!("run"),
                _ => {}
            }
            self.go_on(&wish, rng.between(0, 3) == 0).await;
        }
    }

    async fn go_on(&mut self, wish: &Value, double_click: bool) {
        let path = self.path("/continue");
        let click = || self.api.once("POST", &path, Some(wish));
        let answers = match double_click {
            true => <[_; 2]>::from(tokio::join!(click(), click())).to_vec(),
            false => vec![click().await],
        };
        let statuses: Vec<u16> = answers
            .iter()
            .flatten()
            .map(|answer| answer.status)
            .collect();
        let taken = statuses.iter().filter(|status| **status == 200).count();
        if taken > 1 || statuses.iter().any(|status| !matches!(status, 200 | 409)) {
            self.complain(format!("continue {wish} was answered {statuses:?}"));
        }
    }
}

/// Waits for the end; `None`: it did not come in time.
pub(crate) async fn end_of(api: &Api, id: &str, deadline: Instant) -> Option<Value> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let path = format!(
            "/api/executions/{id}?wait={}ms",
            left.as_millis().min(2_000)
        );
        let shown = api.ask("GET", &path, None, deadline).await?;
        if !shown.body["finished_at"].is_null() {
            return Some(shown.body);
        }
        if left.is_zero() {
            return None;
        }
    }
}
