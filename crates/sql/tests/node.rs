//! The node `sql` as the engine runs it: a schema's text, its expressions, and a file.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::expr::{Limits, Meter, Scope};
use pawl_kernel::node::{
    NodeCall, NodeError, NodeHandler, NodeSpec, Outcome, PayloadLimits, Registry,
};
use pawl_kernel::redact::Redactor;
use pawl_kernel::schema::{Graph, load};
use pawl_kernel::secrets::{CarriedSecrets, Patterns, Reader, SecretScope, SecretScopes};
use pawl_kernel::time::Timestamp;
use pawl_sql::SqlNode;
use serde_json::{Map, Value, json};
use support::Bed;

static START: NodeSpec = NodeSpec {
    node_type: "start",
    title: "Start",
    category: "flow",
    doc: "",
    pure: true,
    handles: &["success"],
    fields: &[],
    output: "",
    example: "",
};

struct Start;

#[async_trait]
impl NodeHandler for Start {
    fn spec(&self) -> &'static NodeSpec {
        &START
    }

    async fn run(&self, _: NodeCall<'_>) -> Result<Outcome, NodeError> {
        Ok(Outcome::done(Value::Null))
    }
}

/// Runs the only node of a schema with this config.
async fn run(bed: &Bed, config: Value, context: Value, key: &str) -> Result<Value, NodeError> {
    run_with(bed, config, context, key, CarriedSecrets::default()).await
}

async fn run_with(
    bed: &Bed,
    config: Value,
    context: Value,
    key: &str,
    secrets: CarriedSecrets,
) -> Result<Value, NodeError> {
    let node = SqlNode::new(bed.connections.clone());
    let schema = json!({"name": "t", "nodes": [
        {"id": "s", "type": "start"}, {"id": "q", "type": "sql", "config": config}],
        "edges": [{"source": "s", "target": "q"}]});
    let handlers: Vec<Arc<dyn NodeHandler>> = vec![Arc::new(Start), Arc::new(node)];
    let registry = Registry::new(handlers);
    let loaded = load(None, &schema.to_string(), &registry);
    let definition = loaded
        .definition
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let graph = Graph::compile(definition, &registry).unwrap();
    let node = graph.node("q").unwrap();
    let roots = context.as_object().unwrap();
    let scope = Scope::new(roots, 0, "exe_1", 7);
    let call = NodeCall {
        node_id: "q",
        config: node
            .render(&scope, &mut Meter::new(Limits::default()))
            .unwrap(),
        execution_id: "exe_1",
        correlation_id: "cor_1",
        seq: 7,
        attempt: 1,
        entered_at: Timestamp::from_micros(0),
        now: Timestamp::from_micros(0),
        effect_key: Some(key),
        timeout: Duration::from_secs(20),
        limits: PayloadLimits::default(),
        context: &Map::new(),
        previous: None,
        names: &BTreeMap::new(),
        late: node.late(&scope),
        secrets,
    };
    match node.handler.as_ref().unwrap().run(call).await? {
        Outcome::Done { handle, output, .. } => {
            assert_eq!(handle, "success");
            Ok(output)
        }
        other => panic!("{other:?}"),
    }
}

/// What is stored in the user's database is as free of secrets as what is stored in Pawl's.
#[tokio::test]
async fn secrets_are_not_kept_in_the_users_database() {
    const CANARY: &str = "CANARY-tok/en+42 \"x\"";
    let secret = CANARY.to_owned();
    let redactor = Arc::new(Redactor::new([&secret].into_iter()));
    for bed in [Bed::sqlite().await, Bed::postgres("secret").await] {
        let config = json!({"connection": "db", "statements": [
            {"id": "z", "sql": "SELECT CAST(:s AS text) AS s", "params": {"s": "{{secrets.token}}"}},
        ], "output": {"r": "{{results.z.row.s}}", "sec": "{{secrets.token}}", "n": 1}});
        let context = json!({"secrets": {"token": CANARY}});
        let secrets = CarriedSecrets::default().hidden_by(&redactor);
        let whole = json!({"connection": "db", "statements": config["statements"]});
        let hidden = json!({"r": "***", "sec": "***", "n": 1});
        // The second time it is what was stored.
        for _ in 0..2 {
            let output = run_with(
                &bed,
                config.clone(),
                context.clone(),
                "x:1",
                secrets.clone(),
            )
            .await;
            assert_eq!(output.unwrap(), hidden);
        }
        run_with(&bed, whole, context, "x:2", secrets)
            .await
            .unwrap();
        let stored = bed.applied();
        assert!(
            stored.contains("***") && !stored.contains("CANARY"),
            "{stored}"
        );
    }
}

#[tokio::test]
async fn a_secret_goes_to_its_connections_alone() {
    let bed = Bed::sqlite().await;
    let config = json!({"connection": "db", "statements": [
        {"id": "z", "sql": "SELECT :s AS s", "params": {"s": "{{upper(secrets.token)}}"}}]});
    let context = json!({"secrets": {"token": "open-sesame"}});
    for (name, expected) in [("d*", None), ("crm", Some("SECRET_NOT_ALLOWED"))] {
        let ran = run_with(&bed, config.clone(), context.clone(), "x:1", bound_to(name)).await;
        assert_eq!(
            ran.err().map(|error| error.code.into_owned()).as_deref(),
            expected
        );
    }
}

fn bound_to(connection: &str) -> CarriedSecrets {
    let scope = SecretScope {
        connections: Some(Patterns::new([connection.to_owned()])),
        ..SecretScope::default()
    };
    let scopes = SecretScopes::from([("token".to_owned(), Arc::new(scope))]);
    let named = json!({"x": "{{secrets.token}}"});
    let reads = pawl_kernel::schedule::headers::secret_reads(named.as_object().unwrap());
    let reader = Reader {
        name: "t",
        guards: true,
    };
    let resolved = pawl_kernel::secrets::resolve(&BTreeMap::new(), &scopes, &reads, reader);
    resolved.unwrap().1
}

async fn stock() -> Bed {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE stock (sku TEXT PRIMARY KEY, n INTEGER); INSERT INTO stock VALUES ('a', 5), ('b', 0)");
    bed
}

#[tokio::test]
async fn texts_see_the_context_the_results_before_them_and_each_item() {
    let bed = stock().await;
    let config = json!({"connection": "db", "statements": [
        {"id": "find", "sql": "SELECT n FROM stock WHERE sku = :sku", "params": {"sku": "{{input.sku}}"}, "expect": "one"},
        {"id": "put", "sql": "INSERT INTO stock VALUES ($1, $2)", "for_each": "input.more",
         "params": ["{{item}}", "{{results.find.row.n + index}}"], "expect": "affected == 2"},
        {"id": "sum", "sql": "SELECT sum(n) AS n FROM stock", "expect": "results.sum.row.n == 16"},
    ], "output": {"total": "{{results.sum.row.n}}", "put": "{{results.put.affected}}"}});
    let context = json!({"input": {"sku": "a", "more": ["c", "d"]}});
    let output = run(&bed, config.clone(), context.clone(), "x:1")
        .await
        .unwrap();
    assert_eq!(output, json!({"total": 16, "put": 2}));
    // Again, it is what it was.
    assert_eq!(run(&bed, config, context, "x:1").await.unwrap(), output);
    assert_eq!(bed.scalar("SELECT count(*) FROM stock").await, 4);
}

#[tokio::test]
async fn without_an_output_all_results_are_it() {
    let bed = stock().await;
    let config = json!({"connection": "db", "readonly": true, "statements": [{"id": "a", "sql": "SELECT 1 AS one"}]});
    let output = run(&bed, config, json!({}), "x:1").await.unwrap();
    assert_eq!(
        output,
        json!({"a": {"rows": [{"one": 1}], "row": {"one": 1}, "count": 1, "affected": 0}})
    );
    assert_eq!(bed.remembered().await, 0);
}

#[tokio::test]
async fn an_expectation_fails_as_its_author_says() {
    let bed = stock().await;
    let take = |expect: &str, error: Value| {
        json!({"connection": "db", "statements": [
            {"id": "take", "sql": "UPDATE stock SET n = n - 1 WHERE sku = $1 AND n > 0", "params": ["{{input.sku}}"],
             "expect": expect, "error": error}]})
    };
    let context = json!({"input": {"sku": "b"}});
    let error = json!({"code": "OUT_OF_STOCK", "status": 409, "message": "no {{input.sku}} left",
                       "details": {"sku": "{{input.sku}}", "found": "{{results.take.affected}}"}});
    for expect in ["one", "results.take.affected > 0"] {
        let failed = run(&bed, take(expect, error.clone()), context.clone(), "x:1")
            .await
            .unwrap_err();
        assert_eq!(
            (failed.code.as_ref(), failed.message.as_str()),
            ("OUT_OF_STOCK", "no b left")
        );
        assert_eq!(
            failed.details,
            json!({"sku": "b", "found": 0, "statement": "take", "status": 409})
        );
    }
    let failed = run(&bed, take("one", json!({})), context, "x:1")
        .await
        .unwrap_err();
    assert_eq!(failed.code, "EXPECTATION_FAILED");
    assert_eq!(
        failed.message,
        "statement `take`: expected exactly one row, found 0"
    );
    assert_eq!(bed.remembered().await, 0);
}

#[tokio::test]
async fn texts_of_the_wrong_kind_are_errors_that_name_the_statement() {
    let bed = stock().await;
    let context = json!({"input": {"text": "x", "object": {}}});
    for (statement, part) in [
        (
            json!({"for_each": "input.text"}),
            "`for_each` of statement `a` must give a list, this is no list",
        ),
        (json!({"for_each": "input.object"}), "this is an object"),
        (
            json!({"expect": "input.text"}),
            "`expect` of statement `a` must give true or false",
        ),
    ] {
        let mut statement = statement;
        statement["id"] = json!("a");
        statement["sql"] = json!("DELETE FROM stock");
        let config = json!({"connection": "db", "statements": [statement]});
        let failed = run(&bed, config, context.clone(), "x:1").await.unwrap_err();
        assert_eq!(failed.code, "TYPE_ERROR");
        assert!(failed.message.contains(part), "{}", failed.message);
    }
    assert_eq!(bed.scalar("SELECT count(*) FROM stock").await, 2);
}
