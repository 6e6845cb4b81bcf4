//! `pawl dev` with the pack installed, on a database of the test's own; and short words for what the tests call.

use std::any::Any;
use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::call::{Answer, Call};
use crate::database::Database;
use crate::model::Model;
use crate::process::KEY;
use crate::site::Site;

/// One test function, on SQLite and on PostgreSQL.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bed::Bed::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::bed::Bed::postgres(stringify!($name)).await).await;
            })*
        }
    };
}

pub(crate) struct Bed {
    pub(crate) database: Database,
    pub(crate) model: Model,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
    /// What opens the API, if it is locked.
    key: Option<&'static str>,
    /// Runs as long as the bed is there.
    _pawl: Box<dyn Any>,
}

/// The real binary; killed when it goes out of scope.
pub(crate) struct Dev {
    child: Child,
    pub(crate) pid: u32,
    _stdout: BufReader<ChildStdout>,
}

impl Dev {
    /// Returns when it says where it listens.
    pub(crate) async fn start(folder: &Path, model: &Model) -> (Self, SocketAddr) {
        let mut command = pawl(folder);
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("stderr.txt"))
            .unwrap();
        command
            .args(["dev", "--json", "--data", "data"])
            .args(["--listen", "127.0.0.1:0"])
            .env("DOCGRAPH_AI_URL", model.url())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        let banner: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let said = std::fs::read_to_string(folder.join("stderr.txt")).unwrap();
            panic!("`pawl dev` did not start: {line:?} {said}")
        });
        let url = banner["url"].as_str().unwrap();
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        let pid = child.id().unwrap();
        let dev = Self {
            child,
            pid,
            _stdout: stdout,
        };
        (dev, address)
    }

    /// `kill -9`; returns when the process is gone.
    pub(crate) async fn kill(mut self) {
        self.child.start_kill().unwrap();
        self.child.wait().await.unwrap();
    }
}

/// The binary without any setting of the machine it runs on.
pub(crate) fn pawl(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pawl"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PAWL_")) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// `pawl pack install`, and what it says.
pub(crate) async fn install(folder: &Path, address: SocketAddr, key: Option<&str>) -> Value {
    let mut command = pawl(folder);
    command
        .args(["pack", "install", "docgraph", "--connection", "graph"])
        .args(["--json", "--url", &format!("http://{address}")])
        .envs(key.map(|key| ("PAWL_KEY", key)));
    let ended = command.output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complained = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}{complained}");
    serde_json::from_str(&said).unwrap()
}

/// `pawl.toml`.
pub(crate) fn settings(database: &Database) -> String {
    format!(
        "[env]\nallow = [\"DOCGRAPH_*\"]\n[engine]\nmax_recoveries = 1000\n[connections.graph]\nurl = \"{}\"\n",
        database.url()
    )
}

impl Bed {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("graph.db"));
        Self::on(folder, database).await
    }

    pub(crate) async fn postgres(name: &str) -> Self {
        let database = Database::postgres(name).await;
        Self::on(tempfile::tempdir().unwrap(), database).await
    }

    async fn on(folder: TempDir, database: Database) -> Self {
        std::fs::write(folder.path().join("pawl.toml"), settings(&database)).unwrap();
        let model = Model::start().await;
        let (pawl, address) = Dev::start(folder.path(), &model).await;
        install(folder.path(), address, None).await;
        Self {
            database,
            model,
            address,
            folder,
            key: None,
            _pawl: Box::new(pawl),
        }
    }

    /// A server, a worker that alone reaches the model, and PostgreSQL for what Pawl keeps as well.
    pub(crate) async fn cluster(name: &'static str) -> Self {
        let database = Database::postgres(name).await;
        let model = Model::start().await;
        let mut site = Site::fresh(name).await;
        let settings = settings(&database);
        site.settings = format!("[http]\nallow = [\"127.0.0.1/32\"]\n{settings}");
        let server = site.server().await;
        let worker = site
            .launch(&["worker"])
            .with("DOCGRAPH_AI_URL", &model.url())
            .start()
            .await
            .0;
        install(site.folder(), server.address, Some(KEY)).await;
        Self {
            database,
            model,
            address: server.address,
            folder: tempfile::tempdir().unwrap(),
            key: Some(KEY),
            _pawl: Box::new((worker, server, site)),
        }
    }

    /// The API of Pawl itself.
    pub(crate) async fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let sent = crate::wire::send(self.address, method, path, body, self.key).await;
        let answer = sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        answer.body
    }

    pub(crate) async fn call(&self, call: Call) -> Answer {
        let sent = call.send(self.address).await;
        sent.unwrap_or_else(|error| panic!("{call:?}: {error}"))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Call::get(path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Call::post(path, body)).await
    }

    /// A document with one section: their ids.
    pub(crate) async fn section(&self) -> (String, String) {
        let doc = self
            .post("documents", json!({"title": "Manual"}))
            .await
            .expect(201);
        let doc = text(&doc, "id");
        let path = format!("documents/{doc}/sections");
        let section = self
            .post(&path, json!({"title": "One", "order": 1}))
            .await
            .expect(201);
        (doc, text(&section, "id"))
    }

    /// An active atom in this section, as the answer shows it.
    pub(crate) async fn atom(&self, section: &str, content: &str) -> Value {
        let path = format!("sections/{section}/atoms");
        self.post(&path, json!({"content": content}))
            .await
            .expect(201)
    }

    /// An active atom somewhere.
    pub(crate) async fn any_atom(&self) -> Value {
        let (_, section) = self.section().await;
        self.atom(&section, "the text").await
    }

    pub(crate) async fn propose(&self, atom: &Value, content: &str) -> Value {
        let path = format!("atoms/{}/proposals", text(atom, "id"));
        let body = json!({"new_content": content, "comment": "better", "author": "ann"});
        self.post(&path, body).await.expect(200)
    }

    pub(crate) async fn lock(&self, atom: &str, user: &str, revision: &Value) -> Answer {
        let path = format!("atoms/{atom}/lock");
        let call = Call::post(path, json!({"user_id": user})).if_match(revision);
        self.call(call).await
    }

    pub(crate) async fn context(&self, atom: &str) -> Value {
        self.get(&format!("atoms/{atom}/context")).await.expect(200)
    }

    /// The schema is started by nothing any more, not by its clock either.
    pub(crate) async fn deactivate(&self, schema: &str) {
        let path = format!("/api/schemas/{schema}/deactivate");
        self.api("POST", &path, None).await;
    }

    /// Every lock ran out long ago.
    pub(crate) async fn let_locks_expire(&self) {
        let sql = "UPDATE atoms SET locked_until = '2020-01-01T00:00:00.000Z' WHERE locked_until IS NOT NULL";
        self.database.execute(sql).await;
    }
}

pub(crate) fn text(value: &Value, field: &str) -> String {
    let text = value[field].as_str();
    text.unwrap_or_else(|| panic!("no text `{field}` in {value}"))
        .to_owned()
}
