//! Which exit an edge leaves by, exits without an edge, and what follows from an edge that is missing.

use super::*;
use crate::schema::definition::HANDLE_SUCCESS;

const CONDITION: &str = "- {id: c, type: condition, config: {expression: 'true'}}";
const SWITCH: &str = "- {id: c, type: switch, config: {cases: [{name: big, when: 'true'}]}}";
const WAIT: &str = "- {id: c, type: wait_event, config: {name: approved, timeout: 1d}}";

/// `start`, a node `c`, and the ends `a` and `b`; edges are written `handle target`, the first without a name if it
/// is `-`.
fn leaving(node: &str, edges: &[&str]) -> String {
    let edge = |edge: &&str| {
        let (handle, target) = edge.split_once(' ').unwrap();
        let handle = match handle {
            "-" => String::new(),
            name => format!(", sourceHandle: {name}"),
        };
        format!("- {{source: c, target: {target}{handle}}}\n")
    };
    let edges: String = edges.iter().map(edge).collect();
    format!(
        "name: t\nnodes:\n- {{id: s, type: start}}\n{node}\n- {{id: a, type: end, entry: true}}\n\
         - {{id: b, type: end, entry: true}}\nedges:\n- {{source: s, target: c}}\n{edges}"
    )
}

/// `CODE: message (hint)` of each diagnostic.
fn texts(text: &str) -> Vec<String> {
    let found = load_text(text).diagnostics;
    let text = |found: &Diagnostic| {
        let hint = found.hint.as_deref().unwrap_or("no hint");
        format!("{}: {} ({hint})", found.code, found.message)
    };
    found.iter().map(text).collect()
}

#[test]
fn an_unnamed_edge_of_a_condition_is_its_true_exit() {
    let open = leaving(CONDITION, &["- a"]);
    check_places(&open, &["w:9:3 UNNAMED_EXIT"]);
    assert_eq!(
        texts(&open),
        [
            "UNNAMED_EXIT: this edge does not say by which exit it leaves `c`; it is read as `true`, not `false` \
             (write `sourceHandle: \"true\"`, and give `false` an edge too: leaving by an exit without an edge ends \
             the execution as completed)"
        ]
    );
    let both = leaving(CONDITION, &["- a", "false b"]);
    assert_eq!(
        texts(&both),
        [
            "UNNAMED_EXIT: this edge does not say by which exit it leaves `c`; it is read as `true`, not `false` \
             (write `sourceHandle: \"true\"`)"
        ]
    );
    for handle in ["-", "output", "success", "~"] {
        let definition = loads(&leaving(CONDITION, &[&format!("{handle} a"), "false b"]));
        assert_eq!(definition.edges[1].source_handle, "true", "{handle}");
        // What is stored says it.
        assert_eq!(check(&definition, &registry()), []);
    }
    check_places(&leaving(CONDITION, &["true a", "false b"]), &[]);
}

#[test]
fn an_older_version_without_the_name_runs_by_the_same_rule() {
    let mut definition = loads(&leaving(CONDITION, &["true a", "false b"]));
    definition.edges[1].source_handle = HANDLE_SUCCESS.into();
    let found = check(&definition, &registry());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "UNNAMED_EXIT");
    let graph = Graph::compile(definition, &registry()).unwrap();
    let condition = graph.node("c").unwrap();
    assert_eq!(&*graph.target(condition, "true").unwrap().id, "a");
    assert!(graph.target(condition, "success").is_none());
}

/// It was valid beside a named one, and stood in for `false`: now nothing takes it, and the version still runs.
#[test]
fn an_older_version_with_a_spare_edge_still_compiles() {
    let mut definition = loads(&leaving(CONDITION, &["true a", "false b"]));
    definition.edges[2].source_handle = HANDLE_SUCCESS.into();
    let graph = Graph::compile(definition, &registry()).unwrap();
    let condition = graph.node("c").unwrap();
    assert_eq!(&*graph.target(condition, "true").unwrap().id, "a");
    assert!(graph.target(condition, "false").is_none());
}

#[test]
fn every_edge_of_a_switch_names_its_exit() {
    let text = leaving(SWITCH, &["- a", "- b"]);
    check_places(
        &text,
        &["9:3 UNNAMED_EXIT", "10:3 UNNAMED_EXIT", "w:4:3 OPEN_EXIT"],
    );
    assert_eq!(
        texts(&text)[0],
        "UNNAMED_EXIT: this edge does not say by which exit it leaves `c` (name one with `sourceHandle`; the exits \
         of `c` are `default`, `big`)"
    );
    check_places(&leaving(SWITCH, &["big a", "default b"]), &[]);
    check_places(&leaving(SWITCH, &["big a"]), &["w:4:3 OPEN_EXIT"]);
}

#[test]
fn two_edges_that_mean_the_same_exit() {
    let text = leaving(CONDITION, &["- a", "true b"]);
    check_places(&text, &["10:3 SEVERAL_EDGES", "w:9:3 UNNAMED_EXIT"]);
    assert_eq!(
        texts(&text)[0],
        "SEVERAL_EDGES: a second edge leaves `c` by `true` (`c` leaves by `true`, `false`; say by which with \
         `sourceHandle`)"
    );
    let plain = leaving(
        "- {id: c, type: log, config: {message: x}}",
        &["- a", "- b"],
    );
    assert_eq!(
        texts(&plain),
        [
            "SEVERAL_EDGES: a second edge leaves `c` by `success` (the first leads to `a`; an exit leads to one node, \
             so put one behind the other)"
        ]
    );
}

#[test]
fn a_wait_that_can_be_too_late() {
    let text = leaving(WAIT, &["- a"]);
    check_places(&text, &["w:4:3 OPEN_EXIT"]);
    assert_eq!(
        texts(&text),
        [
            "OPEN_EXIT: `c` has no edge for `timeout` (if `c` is not left in time, the execution fails with \
             EVENT_TIMEOUT)"
        ]
    );
    check_places(&leaving(WAIT, &["- a", "timeout b"]), &[]);
    check_places(&leaving(WAIT, &["timeout b"]), &["w:4:3 OPEN_EXIT"]);
    let patient = "- {id: c, type: wait_event, config: {name: approved}}";
    check_places(&leaving(patient, &["- a"]), &[]);
    check_places(&leaving(patient, &[]), &[]);
    let never = leaving(patient, &["- a", "timeout b"]);
    check_places(&never, &["w:10:40 UNUSED_EDGE"]);
    assert_eq!(
        texts(&never),
        [
            "UNUSED_EDGE: `c` never leaves by `timeout` (set `timeout` in its config, or remove this edge)"
        ]
    );
}

/// A case of a switch can be called like an exit of another type; it ends the execution as every case does.
#[test]
fn a_case_called_timeout_is_a_case() {
    let switch = "- {id: c, type: switch, config: {cases: [{name: timeout, when: 'true'}]}}";
    let found = texts(&leaving(switch, &["default a"]));
    assert_eq!(
        found,
        [
            "OPEN_EXIT: `c` has no edge for `timeout` (leaving by an exit without an edge ends the execution as \
             completed)"
        ]
    );
}

#[test]
fn a_node_that_is_passed_by_needs_an_exit_for_it() {
    let found = |field: &str, edges: &[&str]| {
        let node = CONDITION.replace("{id: c", &format!("{{id: c, {field}"));
        texts(&leaving(&node, edges))
    };
    let both = ["true a", "false b"];
    const ENDS: &str = "(leaving by an exit without an edge ends the execution as completed)";
    assert_eq!(
        found("on_error: continue", &both),
        [format!(
            "OPEN_EXIT: with `on_error: continue` a node is left by `success`, an exit that `c` (condition) does not have \
             {ENDS}"
        )]
    );
    for (field, edges) in [
        ("on_error: fail", &both[..]),
        ("on_error: continue", &["true a", "false b", "error b"]),
        // It goes on as if it held.
        ("disabled: true", &both),
    ] {
        assert_eq!(found(field, edges), [""; 0], "{field}");
    }
    assert_eq!(
        found("disabled: true", &["false b"])[0],
        format!(
            "OPEN_EXIT: with `disabled: true` a node is left by `true`, an exit of `c` without an edge {ENDS}"
        )
    );
}

#[test]
fn fields_without_an_effect_say_where_they_belong() {
    let found = |node: &str| texts(&leaving(node, &["- a"]));
    assert_eq!(
        found("- {id: c, type: wait_event, timeout: 1m, config: {name: approved}}"),
        [
            "INVALID_FIELD: `timeout` has no effect on a `wait_event` (the `timeout` of a `wait_event` goes into \
             `config`)"
        ]
    );
    assert_eq!(
        found("- {id: c, type: log, retry: {max_attempts: 2}, config: {message: x}}"),
        [
            "INVALID_FIELD: `retry` has no effect on a `log` (remove it; it belongs to nodes that act on the outside: \
             code, http_request, sql)"
        ]
    );
    assert!(
        found("- {id: c, type: log, retry: {enabled: false}, config: {message: x}}").is_empty()
    );
    assert!(found("- {id: c, type: code, timeout: 1m, retry: {}, config: {source: x}}").is_empty());
    let text = leaving(
        "- {id: c, type: log, timeout: 1m, config: {message: x}}",
        &["- a"],
    );
    check_places(&text, &["4:22 INVALID_FIELD"]);
}

/// `start`, and a chain of eight behind the edge that is given.
fn chain(first: &str) -> String {
    let nodes: String = (1..9)
        .map(|n| format!("- {{id: n{n}, type: log, config: {{message: x}}}}\n"))
        .collect();
    let edges: String = (1..8)
        .map(|n| format!("- {{source: n{n}, target: n{}}}\n", n + 1))
        .collect();
    format!("name: t\nnodes:\n- {{id: s, type: start}}\n{nodes}edges:\n{first}\n{edges}")
}

#[test]
fn what_follows_from_an_error_is_folded_into_it() {
    assert_eq!(
        texts(&chain("")),
        [
            "START_LEADS_NOWHERE: `s` leads nowhere: no edge leaves it, so 8 nodes cannot be reached (add an edge to \
             the node that comes first: `{ source: s, target: … }`)"
        ]
    );
    assert_eq!(
        texts(&chain("- {source: s, target: m1}")),
        [
            "UNKNOWN_NODE: this edge leads to `m1`, which is not a node of this schema, so 8 nodes cannot be reached \
             (did you mean `n1`?)"
        ]
    );
    let two = chain("- {source: s, target: x}\n- {source: x, target: n1}");
    assert_eq!(
        texts(&two)
            .iter()
            .map(|text| text.split(" (").next().unwrap())
            .collect::<Vec<_>>(),
        [
            "UNKNOWN_NODE: this edge leads to `x`, which is not a node of this schema, so, with the other edge that \
             leads nowhere, 8 nodes cannot be reached",
            "UNKNOWN_NODE: this edge starts at `x`, which is not a node of this schema",
        ]
    );
}

#[test]
fn what_cannot_be_reached_is_told_by_where_it_begins() {
    let text = chain("- {source: s, target: n5}");
    check_places(&text, &["w:4:3 UNREACHABLE_NODE"]);
    assert_eq!(
        texts(&text),
        [
            "UNREACHABLE_NODE: no path leads from the start to `n1`, nor to the 3 nodes behind it (no hint)"
        ]
    );
}

#[test]
fn errors_come_first() {
    let text = "name: t\nnodes:\n- {id: s, type: start}\n- {id: lost, type: end}\n\
                - {id: c, type: condition, config: {expression: 'true'}}\n- {id: e, type: ned}\nedges:\n\
                - {source: s, target: c}\n- {source: c, target: e}\n";
    check_places(
        text,
        &[
            "6:17 UNKNOWN_NODE_TYPE",
            "w:4:3 UNREACHABLE_NODE",
            "w:9:3 UNNAMED_EXIT",
        ],
    );
}

/// However many warnings there are.
#[test]
fn warnings_leave_room_for_errors() {
    let lost: String = (0..300)
        .map(|n| format!("- {{id: n{n}, type: end}}\n"))
        .collect();
    let text = |last: &str| {
        format!(
            "name: t\nnodes:\n- {{id: s, type: start}}\n{lost}- {{id: e, type: {last}}}\nedges:\n- {{source: s, target: e}}"
        )
    };
    let found = load_text(&text("ned")).diagnostics;
    assert_eq!((found[0].code, found.len()), ("UNKNOWN_NODE_TYPE", 201));
    assert!(found[200].is_error());
    // Warnings that are not listed are warnings, too.
    let loaded = load_text(&text("end"));
    assert_eq!(loaded.diagnostics.len(), 201);
    assert_eq!(loaded.diagnostics[200].code, "TOO_MANY_PROBLEMS");
    assert!(loaded.definition.is_some());
}
