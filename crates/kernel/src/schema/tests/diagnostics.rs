//! Each rule once, with the exact place.

use super::*;

/// A schema around some nodes and edges; `start` is on line 3, the rest begins on line 4.
fn around(nodes: &str, edges: &str) -> String {
    format!("name: t\nnodes:\n- {{id: s, type: start}}\n{nodes}\nedges:\n{edges}\n")
}

#[track_caller]
fn check_nodes(nodes: &str, edges: &str, expected: &[&str]) {
    check_places(&around(nodes, edges), expected);
}

#[test]
fn types_and_configs() {
    let edge = "- {source: s, target: a}";
    let cases: &[(&str, &[&str])] = &[
        ("- {id: a, type: htp_request}", &["4:17 UNKNOWN_NODE_TYPE"]),
        ("- {id: a, type: log}", &["4:3 MISSING_FIELD"]),
        (
            "- {id: a, type: log, config: {message: hi, levl: info}}",
            &["4:44 UNKNOWN_FIELD"],
        ),
        (
            "- {id: a, type: log, config: {message: hi, level: inof}}",
            &["4:51 UNKNOWN_CHOICE"],
        ),
        (
            "- {id: a, type: log, config: {message: 5}}",
            &["4:40 WRONG_TYPE"],
        ),
        (
            "- {id: a, type: log, config: [1]}",
            &["4:30 WRONG_TYPE", "4:30 MISSING_FIELD"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, accept: 99}}",
            &["4:56 OUT_OF_RANGE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, accept: [200, 7]}}",
            &["4:62 OUT_OF_RANGE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, accept: yes}}",
            &["4:56 WRONG_TYPE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, wait: soon}}",
            &["4:54 BAD_DURATION"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, max_bytes: 0}}",
            &["4:59 OUT_OF_RANGE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, headers: {a: 1}}}",
            &["4:61 WRONG_TYPE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, method: GET, body: 1}}",
            &["4:67 GET_WITH_BODY"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x, max_bytes: '{{input.n}}'}}",
            &[],
        ),
        (
            "- {id: a, type: switch, config: {cases: [{name: x}]}}",
            &["4:42 MISSING_FIELD", "w:4:3 OPEN_EXIT"],
        ),
    ];
    for (nodes, expected) in cases {
        check_nodes(nodes, edge, expected);
    }
}

#[test]
fn expressions_and_paths() {
    let edge = "- {source: s, target: a}";
    let log = |text: &str| format!("- id: a\n  type: log\n  config:\n    message: {text}");
    let cases: &[(&str, &[&str])] = &[
        ("\"x {{ input. }}\"", &["7:27 BAD_EXPRESSION"]),
        ("\"{{ inptu.a }}\"", &["7:18 UNKNOWN_PATH"]),
        ("'it''s {{ inptu.a }}'", &["7:24 UNKNOWN_PATH"]),
        ("\"\\u00e9\\n{{ inptu.a }}\"", &["7:26 UNKNOWN_PATH"]),
        ("hello {{ inptu.a }}", &["7:23 UNKNOWN_PATH"]),
        (
            "|\n      one\n      two {{ inptu.a }}",
            &["9:14 UNKNOWN_PATH"],
        ),
        (
            ">\n      one\n      two {{ inptu.a }}",
            &["8:7 UNKNOWN_PATH"],
        ),
        ("\"{{ steps.b.output }}\"", &["7:18 UNKNOWN_PATH"]),
        ("\"{{ steps.s.outptu }}\"", &["7:18 UNKNOWN_PATH"]),
        ("\"{{ steps.b?.output }}\"", &["w:7:18 UNKNOWN_PATH"]),
        ("\"{{ execution.nmae }}\"", &["7:18 UNKNOWN_PATH"]),
        ("\"{{ secrets.key }}\"", &["7:18 SECRET_IN_PURE_NODE"]),
        ("\"{{ steps.s.output }} {{ variables.x }}\"", &[]),
        ("{{ input.a }}", &["7:14 UNQUOTED_EXPRESSION"]),
        ("{{ input.a }} and more", &["7:14 UNQUOTED_EXPRESSION"]),
    ];
    for (text, expected) in cases {
        check_nodes(&log(text), edge, expected);
    }
    let http = "- {id: a, type: http_request, config: {url: 'http://x/{{ secrets.key }}'}}";
    check_nodes(http, edge, &[]);
    let code = "- {id: a, type: code, config: {source: 'let x = {{ !!'}}";
    check_nodes(code, edge, &[]);
    let condition = "- {id: a, type: condition, config: {expression: '{{ input.a }} == && 2'}}";
    check_nodes(condition, edge, &["4:67 BAD_EXPRESSION", "w:4:3 OPEN_EXIT"]);
}

#[test]
fn the_graph() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "- {id: b, type: end}",
            "- {source: s, target: c}",
            &["6:23 UNKNOWN_NODE"],
        ),
        (
            "- {id: b, type: end}",
            "- {source: x, target: b}",
            &["3:3 START_LEADS_NOWHERE", "6:12 UNKNOWN_NODE"],
        ),
        (
            "- {id: s, type: end}",
            "",
            &["3:3 START_LEADS_NOWHERE", "4:8 DUPLICATE_ID"],
        ),
        ("- {id: b, type: start}", "", &["4:17 SECOND_START"]),
        (
            "- {id: b, type: end}\n- {id: c, type: end}",
            "- {source: s, target: b}\n- {source: s, target: c, sourceHandle: output}",
            &["8:3 SEVERAL_EDGES"],
        ),
        (
            "- {id: b, type: end}",
            "- {source: s, target: b}\n- {source: s, target: b, sourceHandle: maybe}",
            &["7:40 UNKNOWN_HANDLE"],
        ),
        (
            "- {id: b, type: end}",
            "- {source: s, target: b}\n- {source: b, target: s}",
            &["7:12 EDGE_FROM_END"],
        ),
        (
            "- {id: b, type: log, config: {message: x}}",
            "- {source: s, target: b}\n- {source: b, target: b}",
            &["3:3 NO_END"],
        ),
        (
            "- {id: b, type: condition, config: {expression: 'true'}}",
            "- {source: s, target: b}\n- {source: b, target: s, sourceHandle: true}",
            &["w:4:3 OPEN_EXIT"],
        ),
        (
            "- {id: b, type: condition, config: {expression: 'true'}}",
            "- {source: s, target: b}\n- {source: b, target: b, sourceHandle: 'true'}\n- {source: b, target: s, sourceHandle: false}",
            &["3:3 NO_END"],
        ),
        (
            "- {id: b, type: end, entry: true}\n- {id: c, type: end}",
            "- {source: s, target: c}",
            &[],
        ),
    ];
    for (nodes, edges, expected) in cases {
        check_nodes(nodes, edges, expected);
    }
    check_places("name: t\nnodes:\n- {id: a, type: end}\n", &["2:1 NO_START"]);
}

#[test]
fn document_and_fields() {
    let nodes = "nodes: [{id: s, type: start}, {id: e, type: end}]\n";
    let cases: &[(&str, &[&str])] = &[
        ("5", &["1:1 WRONG_TYPE"]),
        ("nodes: []", &["1:1 MISSING_FIELD", "1:1 NO_START"]),
        ("name: t", &["1:1 MISSING_FIELD"]),
        ("name: t\nnodes: 5", &["2:8 WRONG_TYPE"]),
        ("name: My Flow", &["1:1 MISSING_FIELD", "1:7 BAD_NAME"]),
        (
            "name: t\nnodse: []",
            &["1:1 MISSING_FIELD", "2:1 UNKNOWN_FIELD"],
        ),
        (
            "name: t\nlanguage: 2",
            &["1:1 MISSING_FIELD", "2:11 UNKNOWN_LANGUAGE"],
        ),
    ];
    for (text, expected) in cases {
        check_places(text, expected);
    }
    let settings: &[(&str, &[&str])] = &[
        ("settings: {max_steps: 0}", &["3:23 OUT_OF_RANGE"]),
        ("settings: {max_steps: many}", &["3:23 WRONG_TYPE"]),
        ("settings: {max_stepz: 1}", &["3:12 UNKNOWN_FIELD"]),
        ("settings: {node_timeout: 25h}", &["3:26 OUT_OF_RANGE"]),
        ("settings: {node_timeout: -1}", &["3:26 BAD_DURATION"]),
        ("settings: {priority: urgent}", &["3:22 UNKNOWN_CHOICE"]),
        ("settings: {concurrency: {key: a}}", &["3:25 MISSING_FIELD"]),
        (
            "settings: {tenant: '{{steps.s.output}}'}",
            &["3:23 UNKNOWN_PATH"],
        ),
        ("settings: {tenant: '{{input.'}", &["3:29 BAD_EXPRESSION"]),
        ("settings: {retention: soon}", &["3:23 BAD_DURATION"]),
        (
            "triggers: [{type: webhok, path: x}]",
            &["3:19 UNKNOWN_TRIGGER"],
        ),
        (
            "triggers: [{type: webhook, path: x, name: 'a b'}, {type: cron, cron: '@daily', name: '7'}]",
            &["3:43 BAD_NAME", "3:86 BAD_NAME"],
        ),
        (
            "triggers: [{type: webhook, path: x, name: a}, {type: webhook, path: y, name: a}, {type: cron, cron: '@daily', name: a}]",
            &["3:78 BAD_NAME"],
        ),
        ("triggers: [{type: cron}]", &["3:12 MISSING_FIELD"]),
        ("triggers: [{type: cron, cron: '* *'}]", &["3:31 BAD_CRON"]),
        (
            "triggers: [{type: cron, cron: '0 0 30 2 *'}]",
            &["3:31 NEVER_FIRES"],
        ),
        (
            "triggers: [{type: cron, cron: '61 * * * *', timezone: Mars/Olympus, overlap: never}]",
            &["3:31 BAD_CRON", "3:55 BAD_TIME_ZONE", "3:78 UNKNOWN_CHOICE"],
        ),
        ("triggers: [{type: cron, cron: 5}]", &["3:31 WRONG_TYPE"]),
        (
            "triggers: [{type: cron, cron: '*/10 * * * * MON-FRI'}]",
            &[],
        ),
        (
            "triggers: [{type: cron, cron: '@daily', timezone: Asia/Tokyo}]",
            &[],
        ),
        (
            "triggers: [{type: webhook, path: x, pth: y}]",
            &["3:37 UNKNOWN_FIELD"],
        ),
        (
            "triggers: [{type: webhook, path: a/*, auth: {}}]",
            &["3:34 BAD_PATH", "3:45 MISSING_FIELD"],
        ),
        (
            "triggers: [{type: webhook, path: 'a/:b'}, {type: webhook, path: 'a/:c', method: ANY}]",
            &["3:43 DUPLICATE_PATH"],
        ),
        (
            "triggers: [{type: webhook, path: a}, {type: webhook, path: a, method: GET}, {type: webhook, path: a, disabled: true}]",
            &[],
        ),
        (
            "triggers: [{type: webhook, respond: respond_node}]",
            &["w:3:37 NO_RESPOND_NODE"],
        ),
    ];
    for (text, expected) in settings {
        let edges = "edges: [{source: s, target: e}]";
        check_places(&format!("name: t\n{nodes}{text}\n{edges}"), expected);
    }
    // An edge that cannot be read may have been the one that is missing.
    for (edges, expected) in [
        ("edges: 5", "3:8 WRONG_TYPE"),
        ("edges: [5]", "3:9 WRONG_TYPE"),
        ("edges: [{source: s}]", "3:9 MISSING_FIELD"),
    ] {
        check_places(&format!("name: t\n{nodes}{edges}"), &[expected]);
    }
}

#[test]
fn node_fields() {
    let cases: &[(&str, &[&str])] = &[
        ("- {type: log}", &["4:3 MISSING_FIELD"]),
        ("- {id: a}", &["4:3 MISSING_FIELD"]),
        ("- {id: 7, type: end}", &["4:8 WRONG_TYPE"]),
        ("- {id: $a, type: end, entry: true}", &["4:8 BAD_NAME"]),
        ("- {id: '', type: end, entry: true}", &["4:8 BAD_NAME"]),
        (
            "- {id: \"a\\u200bb\", type: end, entry: true}",
            &["4:8 BAD_NAME"],
        ),
        (
            "- {id: a, type: end, entry: true, timeout: 0}",
            &["4:44 OUT_OF_RANGE"],
        ),
        (
            "- {id: a, type: end, entry: true, timeout: 1e12}",
            &["4:44 BAD_DURATION"],
        ),
        (
            "- {id: a, type: end, entry: true, on_error: ignore}",
            &["4:45 UNKNOWN_CHOICE"],
        ),
        (
            "- {id: a, type: end, entry: true, disabled: no}",
            &["4:45 WRONG_TYPE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x}, entry: true, retry: {max_attempts: -1}}",
            &["4:84 OUT_OF_RANGE"],
        ),
        (
            "- {id: a, type: http_request, config: {url: x}, entry: true, retry: {max_atempts: 1}}",
            &["4:70 UNKNOWN_FIELD"],
        ),
        (
            "- {id: a, type: end, entry: true, data: {}, confg: {}}",
            &["w", "4:45 UNKNOWN_FIELD"],
        ),
    ];
    for (nodes, expected) in cases {
        let expected: Vec<&str> = expected
            .iter()
            .copied()
            .filter(|line| *line != "w")
            .collect();
        let unreachable =
            !nodes.contains("entry") && !nodes.contains("{type") && !nodes.contains("id: 7");
        let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        if unreachable {
            expected.push("w:4:3 UNREACHABLE_NODE".into());
        }
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let nodes = format!("{nodes}\n- {{id: z, type: end}}");
        check_nodes(&nodes, "- {source: s, target: z}", &expected);
    }
}

#[test]
fn hints_name_what_is_near() {
    let text = around(
        "- {id: a, type: lgo, config: {}}",
        "- {source: s, target: a}",
    );
    let loaded = load_text(&text);
    assert_eq!(
        loaded.diagnostics[0].hint.as_deref(),
        Some("did you mean `log`?")
    );
    assert_eq!(loaded.diagnostics[0].node_id.as_deref(), Some("a"));
    assert_eq!(loaded.diagnostics[0].file.as_deref(), Some("test.yaml"));
}

#[test]
fn everything_at_once() {
    let text = "\
name: Wrong Name
settings: { max_stepz: 5 }
nodes:
  - { id: s, type: start }
  - { id: a, type: lgo }
  - { id: b, type: log, config: { message: {{ input.x }} } }
  - { id: b, type: end }
edges:
  - { source: s, target: a }
  - { source: a, target: b, sourceHandle: x }
  - { source: b, target: nowhere }
";
    check_places(
        text,
        &[
            "1:7 BAD_NAME",
            "2:13 UNKNOWN_FIELD",
            "5:20 UNKNOWN_NODE_TYPE",
            "6:44 UNQUOTED_EXPRESSION",
            "7:11 DUPLICATE_ID",
            "11:26 UNKNOWN_NODE",
        ],
    );
}

#[test]
fn many_problems_are_cut_off() {
    let nodes: String = (0..400)
        .map(|n| format!("- {{id: n{n}, type: nope{n}}}\n"))
        .collect();
    let loaded = load_text(&around(&nodes, ""));
    assert_eq!(loaded.diagnostics.len(), 201);
    assert_eq!(loaded.diagnostics[200].code, "TOO_MANY_PROBLEMS");
}

#[test]
fn every_code_is_documented_once() {
    let mut names: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
