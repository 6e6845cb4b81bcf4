//! Compiled graphs: edges, handlers, rendering.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;

use super::reading::EXAMPLE;
use super::*;
use crate::expr::{Limits, Meter, Scope};
use crate::schema::graph::LateTexts;

fn compiled(text: &str) -> Graph {
    Graph::compile(loads(text), &registry()).unwrap()
}

fn render(node: &Node, roots: Value) -> Result<Value, RenderError> {
    let Value::Object(roots) = roots else {
        panic!()
    };
    let scope = Scope::new(&roots, 0, "e", 1);
    node.render(&scope, &mut Meter::new(Limits::default()))
}

#[test]
fn graphs_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Graph>();
}

#[test]
fn edges_by_exact_handle() {
    let graph = compiled(EXAMPLE);
    assert_eq!(&*graph.start().id, "start_1");
    let condition = graph.node("condition_1").unwrap();
    assert_eq!(&*graph.target(condition, "true").unwrap().id, "good");
    assert_eq!(&*graph.target(condition, "false").unwrap().id, "bad");
    assert!(graph.target(condition, "success").is_none());
    assert!(!graph.has_edge(condition, "error"));
    assert!(graph.node("nobody").is_none());
    assert_eq!(graph.nodes().len(), 5);
    assert!(condition.pure && !graph.node("http_1").unwrap().pure);
    assert_eq!(condition.timeout, Duration::from_secs(30));
}

#[test]
fn fields_render_by_their_mode() {
    let graph = compiled(EXAMPLE);
    let http = graph.node("http_1").unwrap();
    let config = render(http, json!({"webhook": {"payload": {"user_id": "a b"}}})).unwrap();
    assert_eq!(
        config,
        json!({"method": "GET", "url": "https://api.example.com/users/a%20b"})
    );
    let condition = graph.node("condition_1").unwrap();
    let roots = json!({"steps": {"http_1": {"output": {"status_code": 200}}}});
    assert_eq!(
        render(condition, roots).unwrap(),
        json!({"expression": true})
    );
    assert_eq!(
        render(graph.node("bad").unwrap(), json!({})).unwrap(),
        json!({"success": false})
    );
}

#[test]
fn nested_fields_and_raw_text() {
    let text = "
name: t
nodes:
- {id: s, type: start}
- {id: h, type: http_request, config: {url: x, body: {a: ['{{input.n}}', 'n={{input.n}}', 7], b: {c: plain}}}}
- {id: w, type: switch, config: {value: '{{input.n}}', cases: [{name: '{{', when: input.n > 3}]}}
- {id: c, type: code, config: {source: 'x = {{ input.n }}'}}
edges:
- {source: s, target: h}
- {source: h, target: w}
- {source: w, target: c, sourceHandle: default}
";
    let graph = compiled(text);
    let rendered = |id: &str| render(graph.node(id).unwrap(), json!({"input": {"n": 5}})).unwrap();
    assert_eq!(
        rendered("h"),
        json!({"url": "x", "body": {"a": [5, "n=5", 7], "b": {"c": "plain"}}})
    );
    assert_eq!(
        rendered("w"),
        json!({"value": 5, "cases": [{"name": "{{", "when": true}]})
    );
    assert_eq!(rendered("c"), json!({"source": "x = {{ input.n }}"}));
}

#[test]
fn render_errors_name_the_field() {
    let text = "name: t\nnodes:\n- {id: s, type: start}\n- {id: e, type: end, config: {output: {a/b: [1, '{{input.x.y}}']}}}\nedges:\n- {source: s, target: e}";
    let graph = compiled(text);
    let error = render(graph.node("e").unwrap(), json!({"input": {}})).unwrap_err();
    assert_eq!(error.pointer, "/output/a~1b/1");
    assert_eq!(error.error.code.as_str(), "UNDEFINED_PATH");
}

#[test]
fn unknown_types_compile_without_a_handler() {
    let graph = Graph::compile(loads(EXAMPLE), &Registry::default()).unwrap();
    assert!(graph.start().handler.is_none());
}

#[test]
fn broken_definitions_do_not_compile() {
    let mut definition = loads(EXAMPLE);
    definition.nodes.remove(0);
    definition.nodes[1].config = json!({"expression": "1 +"});
    definition.nodes[3].id = "good".into();
    let found = Graph::compile(definition, &registry()).unwrap_err();
    let codes: Vec<&str> = found.iter().map(|found| found.code).collect();
    assert_eq!(
        codes,
        [
            "BAD_EXPRESSION",
            "DUPLICATE_ID",
            "UNKNOWN_NODE",
            "UNKNOWN_NODE",
            "NO_START"
        ]
    );
}

/// Not a benchmark, only a guard against something going badly wrong.
#[test]
fn rendering_is_cheap() {
    let graph = compiled(EXAMPLE);
    let node = graph.node("http_1").unwrap();
    let roots = json!({"webhook": {"payload": {"user_id": 7}}});
    let Value::Object(roots) = roots else {
        panic!()
    };
    let scope = Scope::new(&roots, 0, "e", 1);
    let before = std::time::Instant::now();
    for _ in 0..10_000 {
        node.render(&scope, &mut Meter::new(Limits::default()))
            .unwrap();
    }
    let each = before.elapsed() / 10_000;
    println!("render: {each:?}");
    assert!(each < Duration::from_micros(200), "{each:?}");
}

const LATE: &str = "
name: t
nodes:
- {id: s, type: start}
- id: q
  type: sql
  config:
    statements:
    - {sql: 'SELECT {{1}}', params: ['{{input.n}}', '{{results.a.n}}', 7], expect: 'results.a.n > {{steps.s.runs}}'}
    output: {total: '{{results.a.n + input.n}}'}
edges:
- {source: s, target: q}
";

fn late_texts(roots: Value) -> (Value, LateTexts) {
    let Value::Object(roots) = roots else {
        panic!()
    };
    let graph = compiled(LATE);
    let node = graph.node("q").unwrap();
    let scope = Scope::new(&roots, 0, "e", 1);
    let config = node.render(&scope, &mut Meter::new(Limits::default()));
    (config.unwrap(), node.late(&scope))
}

#[test]
fn late_texts_wait_for_the_node() {
    let (config, late) =
        late_texts(json!({"input": {"n": 2, "m": 3}, "steps": {"s": {"runs": 1}}}));
    assert_eq!(config["statements"][0]["params"][0], "{{input.n}}");
    assert_eq!(config["statements"][0]["sql"], "SELECT {{1}}");
    let Value::Object(locals) = json!({"results": {"a": {"n": 5}}}) else {
        panic!()
    };
    let render = |path: &[&str]| late.render(path, &locals).unwrap().unwrap();
    let params = ["statements", "0", "params"];
    assert_eq!(render(&params), json!([2, 5, 7]));
    assert_eq!(render(&["statements", "0", "expect"]), json!(true));
    assert_eq!(render(&["output"]), json!({"total": 7}));
    assert!(!late.has(&["statements", "1", "params"]));
    assert!(!late.has(&["nothing"]));
}

#[test]
fn every_place_and_every_item_draws_ids_of_its_own() {
    let text = LATE.replace("'{{input.n}}'", "'{{uuid()}}'");
    let graph = compiled(&text.replace("{total: '{{results.a.n + input.n}}'}", "'{{uuid()}}'"));
    let (node, roots) = (graph.node("q").unwrap(), Map::new());
    let late = node.late(&Scope::new(&roots, 0, "e", 1));
    let drawn = |index: u64| {
        let locals = json!({"results": {"a": {"n": 5}}, "index": index});
        let params = ["statements", "0", "params"];
        let rendered = late.render(&params, locals.as_object().unwrap());
        rendered.unwrap().unwrap()[0].clone()
    };
    assert_eq!(drawn(0), drawn(0), "the same when it is done again");
    let output = late.render(&["output"], &Map::new()).unwrap().unwrap();
    let all = [drawn(0), drawn(1), drawn(2), output].map(|id| id.to_string());
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "{all:?}");
}

/// A thousand short texts in a row keep a thread as long as a long one does.
#[test]
fn late_texts_are_short_together_or_long() {
    let costly = "'{{reduce(range(800), 0, (sum, x) => sum + x) + input.n}}'";
    let graph = compiled(&LATE.replace("'{{input.n}}'", costly));
    let (node, roots) = (graph.node("q").unwrap(), json!({"input": {"n": 2}}));
    let scope = Scope::new(roots.as_object().unwrap(), 0, "e", 1);
    let long = Arc::new(AtomicU32::new(0));
    let counted = long.clone();
    let late = node.late(&scope).with_long_runs(|| {
        move |work: &mut dyn FnMut(&mut Meter)| {
            counted.fetch_add(1, Ordering::SeqCst);
            work(&mut Meter::default());
        }
    });
    let locals = json!({"results": {"a": {"n": 5}}});
    let render = || late.render(&["statements", "0", "params"], locals.as_object().unwrap());
    assert_eq!(render().unwrap().unwrap(), json!([319_602, 5, 7]));
    assert_eq!(long.load(Ordering::SeqCst), 0, "one alone is short");
    let all = 50;
    for _ in 1..all {
        assert_eq!(render().unwrap().unwrap(), json!([319_602, 5, 7]));
    }
    let long = long.load(Ordering::SeqCst);
    assert!((all - 10..all).contains(&long), "{long}");
}

#[test]
fn a_late_text_that_fails_says_where_it_stands() {
    let (_, late) = late_texts(json!({"input": {"n": 2}}));
    let failed = late.render(&["statements", "0", "params"], &Map::new());
    let error = failed.unwrap().unwrap_err();
    assert_eq!(error.pointer, "/statements/0/params/1");
    assert!(
        error.error.message.contains("results"),
        "{}",
        error.error.message
    );
}

#[test]
fn names_of_a_node_are_known_in_its_late_texts_only() {
    let outside = LATE
        .replace("type: sql", "type: http_request")
        .replace("    statements:", "    url: '{{results.a}}'\n    body:");
    let found: Vec<String> = load(None, &outside, &registry())
        .diagnostics
        .into_iter()
        .map(|one| one.message)
        .collect();
    assert!(
        found
            .iter()
            .any(|message| message.contains("`results` does not exist")),
        "{found:?}"
    );
    let inside = load(None, LATE, &registry()).diagnostics;
    assert!(
        inside
            .iter()
            .all(|one| one.severity != crate::diagnostic::Severity::Error),
        "{inside:?}"
    );
}
