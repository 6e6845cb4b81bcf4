//! The people and programs outside: they start executions at a steady rate and send signals. Whatever was not
//! answered they send again, under the same key, once the process is back.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::flows::Flow;
use crate::http;
use crate::now;
use crate::rng::Rng;

/// Between two starts by one of the [`STARTERS`].
const PACE: Duration = Duration::from_millis(30);
const STARTERS: usize = 2;

/// An execution that somebody wants.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) key: String,
    pub(crate) flow: Flow,
    pub(crate) input: Value,
    /// Known once it was accepted.
    pub(crate) id: Option<String>,
    pub(crate) signals: Vec<Signal>,
    /// Somebody waits for the answer in this life.
    asked: bool,
    /// How often the answer was that a new execution was made.
    created: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) id: String,
    pub(crate) payload: Value,
    /// After the acceptance of the order.
    delay: Duration,
    due_at: Option<i64>,
    pub(crate) fate: Option<Fate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    /// The execution had ended.
    Refused,
}

#[derive(Default)]
struct Book {
    orders: Vec<Order>,
    /// Answers that must never be given.
    problems: BTreeSet<String>,
}

#[derive(Clone)]
pub(crate) struct Load {
    book: Arc<Mutex<Book>>,
    rng: Arc<Mutex<Rng>>,
}

/// What one life of the process is asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appetite {
    /// New executions all the time, until the process dies.
    Endless,
    /// Only what is still unanswered.
    Leftovers,
}

impl Load {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            book: Arc::default(),
            rng: Arc::new(Mutex::new(Rng(seed))),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn draw(&self, low: u64, high: u64) -> u64 {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        rng.between(low, high)
    }

    pub(crate) fn orders(&self) -> Vec<Order> {
        self.book().orders.clone()
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        self.book().problems.iter().cloned().collect()
    }

    fn complain(&self, what: String) {
        self.book().problems.insert(what);
    }

    /// Works against one life of the process until all is done, or until the process is gone.
    pub(crate) async fn work(&self, address: SocketAddr, appetite: Appetite) {
        for order in &mut self.book().orders {
            order.asked = false;
        }
        let mut tasks = JoinSet::new();
        for _ in 0..STARTERS {
            let load = self.clone();
            tasks.spawn(async move { load.start_all(address, appetite).await });
        }
        let load = self.clone();
        tasks.spawn(async move { load.signal_all(address, appetite).await });
        let load = self.clone();
        tasks.spawn(async move { load.ask_again(address).await });
        while let Some(ended) = tasks.join_next().await {
            // An error of the socket is the kill; a panic is a bug of this test.
            let _gone = ended.unwrap();
        }
    }

    async fn start_all(&self, address: SocketAddr, appetite: Appetite) -> io::Result<()> {
        while let Some((place, body)) = self.next_start(appetite) {
            let answer = http::post(address, "/api/executions", &body).await?;
            self.started(place, &answer);
            if appetite == Appetite::Endless {
                tokio::time::sleep(PACE).await;
            }
        }
        Ok(())
    }

    /// What was never answered goes first.
    fn next_start(&self, appetite: Appetite) -> Option<(usize, Value)> {
        let mut book = self.book();
        let unanswered = |order: &Order| order.id.is_none() && !order.asked;
        let place = match book.orders.iter().position(unanswered) {
            Some(place) => place,
            None if appetite == Appetite::Leftovers => return None,
            None => {
                let order = self.new_order(book.orders.len());
                book.orders.push(order);
                book.orders.len() - 1
            }
        };
        let order = &mut book.orders[place];
        order.asked = true;
        Some((place, start_body(order)))
    }

    fn new_order(&self, number: usize) -> Order {
        let flow = match self.draw(0, 99) {
            0..30 => Flow::Chain,
            30..45 => Flow::Nap,
            45..60 => Flow::ShortRetry,
            60..68 => Flow::LongRetry,
            68..82 => Flow::Events,
            82..90 => Flow::Deadline,
            90..95 => Flow::Loop,
            _ => Flow::Once,
        };
        let input = json!({
            "n": number,
            "ms": self.draw(10, 150),
            "nap": format!("{}ms", self.draw(1_000, 3_000)),
            "patience": format!("{}ms", self.draw(300, 1_500)),
            "rounds": self.draw(10, 60),
        });
        let signals = match flow {
            Flow::Events => 2,
            Flow::Deadline => 1,
            _ => 0,
        };
        // At once: before anybody waits for it. Later: while it is waited for, or too late.
        let latest = self.draw(0, 2) * 1_000;
        let signal = |which| Signal {
            id: format!("signal-{number}-{which}"),
            payload: json!({"order": number, "which": which}),
            delay: Duration::from_millis(self.draw(0, latest)),
            due_at: None,
            fate: None,
        };
        Order {
            key: format!("order-{number}"),
            flow,
            input,
            id: None,
            signals: (0..signals).map(signal).collect(),
            asked: false,
            created: 0,
        }
    }

    fn started(&self, place: usize, answer: &http::Answer) {
        let mut book = self.book();
        let order = &mut book.orders[place];
        let id = answer.body["id"].as_str().map(str::to_owned);
        let known = order.id.clone();
        let fits = match (answer.status, &id) {
            (201, Some(_)) => known.is_none() && order.created == 0,
            (200, Some(id)) => known.as_ref().is_none_or(|known| known == id),
            _ => false,
        };
        order.created += usize::from(answer.status == 201);
        order.id = known.or(id);
        for signal in &mut order.signals {
            signal
                .due_at
                .get_or_insert(now() + signal.delay.as_micros() as i64);
        }
        if !fits {
            let problem = format!("a start was answered {answer:?}; the order is {order:?}");
            book.problems.insert(problem);
        }
    }

    async fn signal_all(&self, address: SocketAddr, appetite: Appetite) -> io::Result<()> {
        loop {
            let Some((place, which, path, payload)) = self.next_signal() else {
                if appetite == Appetite::Leftovers && self.all_signalled() {
                    return Ok(());
                }
                http::get(address, "/health/live").await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let answer = http::post(address, &path, &payload).await?;
            self.signalled(place, which, &answer);
        }
    }

    /// The next one due: signals of one execution in order, each after the answer to the one before.
    fn next_signal(&self) -> Option<(usize, usize, String, Value)> {
        let now = now();
        self.book()
            .orders
            .iter()
            .enumerate()
            .find_map(|(place, order)| {
                let id = order.id.as_ref()?;
                let which = order.signals.iter().position(|one| one.fate.is_none())?;
                let signal = &order.signals[which];
                let path = format!("/api/executions/{id}/signals/go?id={}", signal.id);
                let due = signal.due_at.is_some_and(|at| at <= now);
                due.then(|| (place, which, path, signal.payload.clone()))
            })
    }

    fn all_signalled(&self) -> bool {
        let book = self.book();
        let mut signals = book.orders.iter().flat_map(|order| &order.signals);
        signals.all(|signal| signal.fate.is_some())
            && book.orders.iter().all(|order| order.id.is_some())
    }

    fn signalled(&self, place: usize, which: usize, answer: &http::Answer) {
        let mut book = self.book();
        let order = &mut book.orders[place];
        let fate = match answer.status {
            202 | 200 => Fate::Accepted,
            // Too late, or the answer that got lost was a yes.
            409 => Fate::Refused,
            _ => {
                let problem = format!("a signal was answered {answer:?}; the order is {order:?}");
                book.problems.insert(problem);
                return;
            }
        };
        order.signals[which].fate = Some(fate);
    }

    /// An order that was accepted is asked for again: the answer must be the same execution.
    async fn ask_again(&self, address: SocketAddr) -> io::Result<()> {
        let accepted: Vec<Order> = self
            .orders()
            .into_iter()
            .filter(|order| order.id.is_some())
            .collect();
        if accepted.is_empty() {
            return Ok(());
        }
        let order = &accepted[self.draw(0, accepted.len() as u64 - 1) as usize];
        let answer = http::post(address, "/api/executions", &start_body(order)).await?;
        let id = answer.body["id"].as_str().map(str::to_owned);
        if answer.status != 200 || id != order.id {
            self.complain(format!("asked again for {order:?}: {answer:?}"));
        }
        Ok(())
    }
}

fn start_body(order: &Order) -> Value {
    json!({
        "schema": order.flow.name(),
        "input": order.input,
        "variables": {"kept": order.key},
        "idempotency_key": order.key,
    })
}
