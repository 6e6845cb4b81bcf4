//! Two installations that everything is tried at.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pawl::api::{self, ApiState, Limits};
use pawl::config::Config;
use pawl::wiring::{Cluster, EmbeddedEngine, Membership, registry};
use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_engine::worker::Roles;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};
use tokio_util::sync::CancellationToken;
use xtask::services::fresh_database;

use crate::broker::{Broker, Stranger};
use crate::client::{self, Answer, Request};
use crate::site::blocking;
use crate::support::pawl;
use crate::tally::Tally;

/// Of the webhooks that want a proof.
pub(crate) const SECRET: &str = "the-secret-of-the-sender";

pub(crate) struct World {
    pub(crate) places: Vec<Place>,
    pub(crate) stranger: Stranger,
    pub(crate) folder: TempDir,
    /// Where the connection `books` leads to.
    pub(crate) books: String,
    embedded: EmbeddedEngine,
    cluster: Cluster,
    stop: CancellationToken,
    served: Vec<JoinHandle<std::io::Result<()>>>,
    panics: Arc<AtomicUsize>,
}

/// An installation as it is seen from outside.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    made: AtomicUsize,
}

impl World {
    pub(crate) async fn open() -> Self {
        let panics = count_panics();
        let folder = tempfile::tempdir().unwrap();
        let database = blocking(|| fresh_database("hostile").unwrap()).await;
        let broker = Broker::shared("hostile").await;
        let books = blocking(|| fresh_database("hostile_books").unwrap()).await;
        let (config, options) = settings(&folder, &books);
        prepare(&folder, &books).await;
        let nodes = Arc::new(registry(&config, false).unwrap());
        let alone = Options {
            exclusive: true,
            ..options.clone()
        };
        let data = folder.path().join("data");
        let embedded = EmbeddedEngine::start_with(&data, nodes.clone(), alone)
            .await
            .unwrap();
        let member = Membership {
            database_url: database,
            broker_url: broker.url.clone(),
            roles: Roles::ALL,
            slots: None,
        };
        let joining = Cluster::join_with(&member, &config, nodes, options);
        let cluster = Box::pin(joining).await.unwrap();
        let stop = CancellationToken::new();
        let (sqlite, first) = serve("sqlite", embedded.control.clone(), &stop).await;
        let (postgres, second) = serve("postgres", cluster.control.clone(), &stop).await;
        Self {
            places: vec![sqlite, postgres],
            stranger: Stranger::connect(&broker).await,
            folder,
            books,
            embedded,
            cluster,
            stop,
            served: vec![first, second],
            panics,
        }
    }

    /// What is done at every place, and whether the place is well afterwards.
    pub(crate) async fn everywhere(
        &self,
        tally: &mut Tally,
        what: &str,
        expected: &str,
        act: impl AsyncFn(&Place) -> String,
    ) {
        for place in &self.places {
            let got = act(place).await;
            tally.judge(place.name, what, expected, &got);
            place.is_well(tally, what).await;
        }
    }

    /// Both still do what they are there for, and nothing has panicked on the way.
    pub(crate) async fn close(self) {
        for place in &self.places {
            let done = place.run(|_| {}, json!({"n": 1})).await;
            assert_eq!(done, "completed", "{}", place.name);
        }
        self.stop.cancel();
        for served in self.served {
            served.await.unwrap().unwrap();
        }
        self.embedded.shutdown().await;
        self.cluster.shutdown().await;
        assert_eq!(self.panics.load(Ordering::SeqCst), 0, "something panicked");
    }
}

fn settings(folder: &TempDir, books: &str) -> (Config, Options) {
    let shop = folder.path().join("shop.db");
    let text = format!(
        "[connections.shop]\nurl = \"sqlite:{}\"\n[connections.books]\nurl = \"{books}\"\n[broker]\naccept_external = true\n\
         [code]\ntime = \"3s\"\nmemory = 33554432\nchildren = 1\n[engine]\nsweep_after = \"2s\"\n",
        shop.display()
    );
    let mut config: Config = toml::from_str(&text).unwrap();
    config.code.program = Some(env!("CARGO_BIN_EXE_pawl").into());
    let mut options = config.engine_options();
    options.secrets = [("sender".to_owned(), SECRET.to_owned())].into();
    (config, options)
}

/// As its operator would.
async fn prepare(folder: &TempDir, books: &str) {
    const STOCK: &str = "CREATE TABLE stock (sku TEXT PRIMARY KEY, n INTEGER NOT NULL)";
    let shop = rusqlite::Connection::open(folder.path().join("shop.db"));
    shop.unwrap().execute_batch(STOCK).unwrap();
    let client = open_books(books).await;
    client.batch_execute(STOCK).await.unwrap();
    let text = format!(
        "[connections.shop]\nurl = \"sqlite:shop.db\"\n[connections.books]\nurl = \"{books}\"\n"
    );
    std::fs::write(folder.path().join("shop.toml"), text).unwrap();
    for name in ["shop", "books"] {
        let place = folder.path().to_owned();
        let words = ["--config", "shop.toml", "connection", "prepare", name];
        blocking(move || pawl(&place, &words).expect(0)).await;
    }
}

pub(crate) async fn open_books(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Tasks of the runtime swallow the panics of what they run; this does not.
fn count_panics() -> Arc<AtomicUsize> {
    let panics = Arc::new(AtomicUsize::new(0));
    let (seen, usual) = (panics.clone(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |about| {
        seen.fetch_add(1, Ordering::SeqCst);
        usual(about);
    }));
    panics
}

async fn serve(
    name: &'static str,
    control: Control,
    stop: &CancellationToken,
) -> (Place, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = Place {
        name,
        address: listener.local_addr().unwrap(),
        made: AtomicUsize::new(0),
    };
    let limits = Limits {
        // One input is a body that never comes.
        body_time: Duration::from_secs(3),
        ..Limits::default()
    };
    let state = ApiState::new(control, limits);
    (
        place,
        tokio::spawn(api::serve(listener, state, stop.clone())),
    )
}

impl Place {
    pub(crate) async fn send(&self, request: Request) -> Answer {
        client::send(self.address, request).await
    }

    /// `422 INVALID_REQUEST`.
    pub(crate) async fn answer(&self, request: Request) -> String {
        answer_of(&self.send(request).await)
    }

    /// The same for bytes as they are.
    pub(crate) async fn answer_raw(&self, bytes: &[u8]) -> String {
        answer_of(&client::send_raw(self.address, bytes).await)
    }

    pub(crate) async fn is_well(&self, tally: &mut Tally, what: &str) {
        let live = self.answer(Request::new("GET", "/health/live")).await;
        tally.judge(self.name, &format!("health after {what}"), "200", &live);
    }

    /// A schema of start, one node and end, with a name of its own.
    pub(crate) fn schema(&self, change: impl FnOnce(&mut Value)) -> Value {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let mut schema = json!({
            "name": format!("h-{number}"),
            "nodes": [
                {"id": "s", "type": "start"},
                {"id": "x", "type": "transform", "config": {"output": "{{input.n}}"}},
                {"id": "e", "type": "end", "config": {"output": "{{steps.x.output}}"}},
            ],
            "edges": [{"source": "s", "target": "x"}, {"source": "x", "target": "e"}],
        });
        change(&mut schema);
        schema
    }

    /// `invalid CODE` if it cannot be saved, else how it ended: `failed CODE`, `completed`.
    pub(crate) async fn run(&self, change: impl FnOnce(&mut Value), input: Value) -> String {
        let schema = self.schema(change);
        let saved = self
            .send(Request::new("POST", "/api/schemas").json(&schema))
            .await;
        if saved.status != 201 {
            let first = &saved.json()["details"][0]["code"];
            return format!("invalid {}", first.as_str().unwrap_or("nothing"));
        }
        self.start(schema["name"].as_str().unwrap(), input).await
    }

    pub(crate) async fn start(&self, schema: &str, input: Value) -> String {
        let body = json!({"schema": schema, "input": input});
        let request = Request::new("POST", "/api/executions?wait=30s").json(&body);
        let answer = self.send(request).await;
        if answer.status != 201 {
            return answer_of(&answer);
        }
        let execution = answer.json();
        let status = execution["status"].as_str().unwrap();
        match execution["error"]["code"].as_str() {
            Some(code) => format!("{status} {code}"),
            None => status.to_owned(),
        }
    }
}

fn answer_of(answer: &Answer) -> String {
    let body = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    match body["error"].as_str() {
        Some(code) => format!("{} {code}", answer.status),
        None => answer.status.to_string(),
    }
}
