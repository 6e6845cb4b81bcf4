//! One installation for one test: a database and a vhost of its own, a desk to give orders from, and the outside world.

#[path = "../common/waiting.rs"]
mod waiting;

use std::path::Path;

use pawl::system::SystemEntropy;
use pawl::wiring::Cluster;
use pawl_engine::control::StartRequest;
use pawl_engine::worker::Roles;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::{ExecutionId, SchemaId, time_ordered};
use pawl_kernel::ports::store::{CatalogStore, ExecutionView, SaveMode, SaveSchema};
use pawl_kernel::schema;
use pawl_kernel::time::{Clock, Timestamp};
use serde_json::Value;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use xtask::services::fresh_database;

use crate::broker::Broker;
use crate::member::Member;
use crate::world::World;

pub(crate) use waiting::{PATIENCE, blocking, eventually, within};

/// The outside world is on this machine.
const SETTINGS: &str = "[http]\nallow = [\"127.0.0.1/32\"]\n[engine]\n";
/// What is lost is found soon.
const BRISK: &str = "lease = \"5s\"\nsweep_after = \"2s\"\n";

pub(crate) struct Site {
    pub(crate) database: String,
    pub(crate) broker: Broker,
    /// The text of `pawl.toml`.
    pub(crate) settings: String,
    pub(crate) world: World,
    /// A process that runs nothing itself.
    pub(crate) desk: Cluster,
    sql: tokio::sync::Mutex<Option<Client>>,
    folder: TempDir,
}

impl Site {
    /// On the services that all tests share.
    pub(crate) async fn fresh(name: &'static str) -> Self {
        Self::with(name, "").await
    }

    /// `more`: further settings, first those of the engine.
    pub(crate) async fn with(name: &'static str, more: &str) -> Self {
        Self::usual(name, &format!("{BRISK}{more}")).await
    }

    /// As people have it, but for these settings.
    pub(crate) async fn usual(name: &'static str, settings: &str) -> Self {
        let database = blocking(move || fresh_database(name).unwrap()).await;
        Self::set_up(database, Broker::shared(name).await, settings).await
    }

    /// On other services.
    pub(crate) async fn on(database: String, broker: Broker) -> Self {
        Self::set_up(database, broker, BRISK).await
    }

    async fn set_up(database: String, broker: Broker, settings: &str) -> Self {
        let settings = format!("{SETTINGS}{settings}");
        let desk = Member::of(&settings, &database, &broker.url)
            .named("desk")
            .with_roles(Roles::NONE)
            .join()
            .await;
        Self {
            database,
            broker,
            settings,
            world: World::start().await,
            desk,
            sql: tokio::sync::Mutex::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// For the logs of processes.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Another installation on the same services.
    pub(crate) async fn beside(&self, more: &str) -> Self {
        let (database, broker) = (self.database.clone(), self.broker.clone());
        Self::set_up(database, broker, &format!("{BRISK}{more}")).await
    }

    /// A member of the cluster inside this process, to be furnished further.
    pub(crate) fn member(&self, name: &str) -> Member {
        Member::of(&self.settings, &self.database, &self.broker.url).named(name)
    }

    /// The database's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.desk.store.clock().now()
    }

    /// Returns its name.
    pub(crate) async fn save(&self, definition: &Value) -> String {
        let text = definition.to_string();
        let loaded = schema::load(None, &text, &self.desk.control.runtime().registry);
        let Some(definition) = loaded.definition else {
            panic!(
                "{}",
                schema::render_diagnostics(&text, &loaded.diagnostics, false)
            );
        };
        let name = definition.name.clone();
        let save = SaveSchema {
            id: SchemaId(time_ordered(self.now(), &SystemEntropy)),
            name: name.clone(),
            description: None,
            definition: schema::to_stored_json(&definition),
            hash: schema::content_hash(&definition),
            source: None,
            note: None,
            created_by: "test".into(),
            now: self.now(),
            mode: SaveMode::Create,
        };
        self.desk.store.save_schema(save).await.unwrap();
        name
    }

    pub(crate) async fn start(&self, schema: &str) -> ExecutionId {
        self.start_as(schema, PriorityClass::Normal).await
    }

    pub(crate) async fn start_as(&self, schema: &str, priority: PriorityClass) -> ExecutionId {
        let request = StartRequest {
            schema: schema.into(),
            priority: Some(priority),
            created_by: "test".into(),
            ..StartRequest::default()
        };
        self.desk.control.start(request).await.unwrap().id
    }

    pub(crate) async fn start_many(&self, schema: &str, count: usize) -> Vec<ExecutionId> {
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            ids.push(self.start(schema).await);
        }
        ids
    }

    pub(crate) async fn view(&self, id: ExecutionId) -> ExecutionView {
        self.desk.control.view(id).await.unwrap()
    }

    /// Waits for its end, whatever that is.
    pub(crate) async fn ended(&self, id: ExecutionId) -> ExecutionView {
        eventually(&format!("{id} ends"), async || {
            let view = self.desk.control.view(id).await.ok()?;
            view.execution.head.status.is_terminal().then_some(view)
        })
        .await
    }

    /// Waits until all of them have ended, and well.
    pub(crate) async fn completed(&self, ids: &[ExecutionId]) {
        for id in ids {
            let view = self.ended(*id).await;
            let (status, error) = (
                view.execution.head.status.name(),
                &view.execution.record.error,
            );
            assert_eq!(status, "completed", "{id}: {error:?}");
        }
    }

    /// Every history is whole and no lease is left on what has ended.
    pub(crate) async fn sound(&self) {
        let gaps = "SELECT s.execution_id, s.seq, array_agg(t.seq ORDER BY t.seq) FROM execution_state s \
                    LEFT JOIN execution_steps t USING (execution_id) GROUP BY 1, 2 \
                    HAVING s.seq <> count(t.seq) OR s.seq <> coalesce(max(t.seq), 0)";
        assert_eq!(self.rows(gaps).await, Vec::<Vec<String>>::new(), "gaps");
        let breaks = "SELECT a.execution_id, a.seq FROM execution_steps a JOIN execution_steps b \
                      ON b.execution_id = a.execution_id AND b.seq = a.seq + 1 \
                      WHERE a.next_node_id IS DISTINCT FROM b.node_id OR b.prev_node_id IS DISTINCT FROM a.node_id";
        assert_eq!(self.rows(breaks).await, Vec::<Vec<String>>::new(), "breaks");
        let leases = "SELECT id, lease_owner FROM executions JOIN execution_state ON execution_id = id \
                      WHERE finished_at IS NOT NULL AND lease_token IS NOT NULL";
        assert_eq!(self.rows(leases).await, Vec::<Vec<String>>::new(), "leases");
    }

    /// The nodes of the steps, in order.
    pub(crate) async fn path(&self, id: ExecutionId) -> Vec<String> {
        let sql =
            format!("SELECT node_id FROM execution_steps WHERE execution_id = '{id}' ORDER BY seq");
        self.rows(&sql).await.into_iter().flatten().collect()
    }

    /// What a question to the database gives; NULL is an empty text.
    pub(crate) async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        let mut session = self.sql.lock().await;
        let open = session.take().filter(|client| !client.is_closed());
        let client = match open {
            Some(client) => client,
            None => self.connect().await,
        };
        let answer = client.simple_query(sql).await;
        *session = Some(client);
        let messages = answer.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let texts = |row: tokio_postgres::SimpleQueryRow| {
            (0..row.len())
                .map(|place| row.get(place).unwrap_or_default().to_owned())
                .collect()
        };
        messages
            .into_iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(texts(row)),
                _ => None,
            })
            .collect()
    }

    async fn connect(&self) -> Client {
        let connected = tokio_postgres::connect(&self.database, NoTls).await;
        let (client, connection) = connected.unwrap();
        tokio::spawn(connection);
        let schema = crate::member::config(&self.settings).database.schema;
        let path = format!("SET search_path = {schema}");
        client.batch_execute(&path).await.unwrap();
        client
    }

    pub(crate) async fn text(&self, sql: &str) -> String {
        self.rows(sql).await.swap_remove(0).swap_remove(0)
    }

    pub(crate) async fn number(&self, sql: &str) -> u64 {
        self.text(sql).await.parse().unwrap()
    }

    /// Who holds it; empty: nobody.
    pub(crate) async fn owner(&self, id: ExecutionId) -> String {
        let sql = format!("SELECT lease_owner FROM execution_state WHERE execution_id = '{id}'");
        self.text(&sql).await
    }

    /// Changes with every write to its two rows, even with one that writes what was there before.
    pub(crate) async fn fingerprint(&self, id: ExecutionId) -> String {
        let sql = format!(
            "SELECT concat_ws(' ', e.xmin, e.ctid, s.xmin, s.ctid, (SELECT count(*) FROM execution_steps \
             WHERE execution_id = e.id)) FROM executions e JOIN execution_state s ON execution_id = id WHERE id = '{id}'"
        );
        self.text(&sql).await
    }
}
