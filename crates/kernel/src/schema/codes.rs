//! Every code a schema diagnostic can carry. Codes are stable: people search for them and scripts
//! match on them.

use crate::input::INVALID_INPUT;

pub const INVALID_JSON: &str = "INVALID_JSON";
pub const INVALID_YAML: &str = "INVALID_YAML";
pub const UNQUOTED_EXPRESSION: &str = "UNQUOTED_EXPRESSION";
pub const DUPLICATE_KEY: &str = "DUPLICATE_KEY";
pub const NOT_A_STRING_KEY: &str = "NOT_A_STRING_KEY";
pub const NUMBER_OUT_OF_RANGE: &str = "NUMBER_OUT_OF_RANGE";
pub const SEVERAL_DOCUMENTS: &str = "SEVERAL_DOCUMENTS";
pub const TOO_LARGE: &str = "TOO_LARGE";
pub const TOO_DEEP: &str = "TOO_DEEP";
pub const TOO_MANY_PROBLEMS: &str = "TOO_MANY_PROBLEMS";

pub const UNKNOWN_FIELD: &str = "UNKNOWN_FIELD";
pub const MISSING_FIELD: &str = "MISSING_FIELD";
pub const WRONG_TYPE: &str = "WRONG_TYPE";
pub const OUT_OF_RANGE: &str = "OUT_OF_RANGE";
pub const INVALID_FIELD: &str = "INVALID_FIELD";
pub const MOVED_FIELD: &str = "MOVED_FIELD";
pub const DROPPED_FIELD: &str = "DROPPED_FIELD";
pub const UNKNOWN_CHOICE: &str = "UNKNOWN_CHOICE";
pub const BAD_NAME: &str = "BAD_NAME";
pub const BAD_DURATION: &str = "BAD_DURATION";
pub const UNKNOWN_LANGUAGE: &str = "UNKNOWN_LANGUAGE";
pub const UNKNOWN_TRIGGER: &str = "UNKNOWN_TRIGGER";
pub const BAD_PATH: &str = "BAD_PATH";
pub const DUPLICATE_PATH: &str = "DUPLICATE_PATH";
pub const NO_RESPOND_NODE: &str = "NO_RESPOND_NODE";
pub const BAD_RATE: &str = "BAD_RATE";
pub const BAD_INPUT_SCHEMA: &str = "BAD_INPUT_SCHEMA";
pub const TOO_MANY_NODES: &str = "TOO_MANY_NODES";
pub const TOO_MANY_EDGES: &str = "TOO_MANY_EDGES";

pub const UNKNOWN_NODE_TYPE: &str = "UNKNOWN_NODE_TYPE";
pub const DUPLICATE_ID: &str = "DUPLICATE_ID";
pub const NO_START: &str = "NO_START";
pub const SECOND_START: &str = "SECOND_START";
pub const START_LEADS_NOWHERE: &str = "START_LEADS_NOWHERE";
pub const UNKNOWN_NODE: &str = "UNKNOWN_NODE";
pub const SEVERAL_EDGES: &str = "SEVERAL_EDGES";
pub const UNKNOWN_HANDLE: &str = "UNKNOWN_HANDLE";
pub const UNNAMED_EXIT: &str = "UNNAMED_EXIT";
pub const UNUSED_EDGE: &str = "UNUSED_EDGE";
pub const EDGE_FROM_END: &str = "EDGE_FROM_END";
pub const OPEN_EXIT: &str = "OPEN_EXIT";
pub const UNREACHABLE_NODE: &str = "UNREACHABLE_NODE";
pub const NO_END: &str = "NO_END";
pub const BAD_EXPRESSION: &str = "BAD_EXPRESSION";
pub const UNKNOWN_PATH: &str = "UNKNOWN_PATH";
pub const SECRET_IN_PURE_NODE: &str = "SECRET_IN_PURE_NODE";

/// What each code means, for the documentation. Node types add codes of their own by `check`.
pub const CODES: &[(&str, &str)] = &[
    (
        INVALID_JSON,
        "The text is not JSON; the place is where reading stopped.",
    ),
    (
        INVALID_YAML,
        "The text is not YAML 1.2; the place is where reading stopped.",
    ),
    (
        UNQUOTED_EXPRESSION,
        "A YAML value begins with `{{` outside quotes, where YAML sees a mapping.",
    ),
    (DUPLICATE_KEY, "One object has the same key twice."),
    (
        NOT_A_STRING_KEY,
        "A YAML key is a number, a boolean, null or a collection.",
    ),
    (
        NUMBER_OUT_OF_RANGE,
        "A number would be rounded or is not finite: beyond 64 bits, 1e400, .nan, .inf.",
    ),
    (
        SEVERAL_DOCUMENTS,
        "The text holds more than one YAML document.",
    ),
    (
        TOO_LARGE,
        "The text is over 4 MiB, or its aliases unfold to too many values.",
    ),
    (
        TOO_DEEP,
        "Objects and lists are nested more than 64 levels deep.",
    ),
    (
        TOO_MANY_PROBLEMS,
        "There are more problems than are listed.",
    ),
    (
        UNKNOWN_FIELD,
        "The field does not exist here; in React Flow data it is only ignored.",
    ),
    (MISSING_FIELD, "A required field is left out."),
    (
        WRONG_TYPE,
        "The value has another type than the field wants.",
    ),
    (OUT_OF_RANGE, "The value is outside the allowed range."),
    (
        INVALID_FIELD,
        "A field has no effect on a node of this type, fields contradict each other, or a value is malformed.",
    ),
    (
        MOVED_FIELD,
        "`timeout` or `retry` stood in the config; it was read as a field of the node.",
    ),
    (
        DROPPED_FIELD,
        "`timeout` or `retry` stood in the config of a node on which it has no effect; it was left out.",
    ),
    (
        UNKNOWN_CHOICE,
        "The value is none of the words the field knows.",
    ),
    (
        BAD_NAME,
        "A schema name or node id has characters it must not have, or is too long.",
    ),
    (
        BAD_DURATION,
        "The value is not a valid duration such as 30s, 1h30m, PT5M or a number of seconds.",
    ),
    (
        UNKNOWN_LANGUAGE,
        "The schema was written for a newer language level than this program knows.",
    ),
    (UNKNOWN_TRIGGER, "The trigger type does not exist."),
    (
        BAD_PATH,
        "The path of a webhook has parts it must not have.",
    ),
    (
        DUPLICATE_PATH,
        "Two webhooks of the schema would take the same requests.",
    ),
    (
        NO_RESPOND_NODE,
        "A webhook waits for a `respond` node, and the schema has none.",
    ),
    (
        BAD_RATE,
        "The value is no rate such as 10/s, 100/m or 5000/h.",
    ),
    (
        BAD_INPUT_SCHEMA,
        "`input` is no JSON Schema (2020-12), or one that Pawl does not check with: it refers to another document, has patterns that cannot be used, or is too large.",
    ),
    (
        INVALID_INPUT,
        "The `input` of a cron trigger does not fit the schema's `input`: every start would fail.",
    ),
    (TOO_MANY_NODES, "The schema has more than 2 000 nodes."),
    (TOO_MANY_EDGES, "The schema has more than 20 000 edges."),
    (UNKNOWN_NODE_TYPE, "No node type has this name."),
    (DUPLICATE_ID, "Two nodes have the same id."),
    (NO_START, "No node has the type `start`."),
    (SECOND_START, "More than one node has the type `start`."),
    (START_LEADS_NOWHERE, "No edge leaves the `start`."),
    (UNKNOWN_NODE, "An edge names a node that does not exist."),
    (
        SEVERAL_EDGES,
        "Several edges leave one node by the same handle.",
    ),
    (UNKNOWN_HANDLE, "The node has no exit of this name."),
    (
        UNNAMED_EXIT,
        "An edge from a node with several exits does not say by which it leaves; from a `condition` it is read as `true`.",
    ),
    (
        UNUSED_EDGE,
        "An edge starts from an exit that the node, with this config, never leaves by.",
    ),
    (EDGE_FROM_END, "An edge leaves a node of type `end`."),
    (
        OPEN_EXIT,
        "An exit of a node with several has no edge; leaving by it ends the execution, by `timeout` as failed.",
    ),
    (
        UNREACHABLE_NODE,
        "No path leads from `start` to the node, nor to those behind it.",
    ),
    (
        NO_END,
        "No path leads from `start` to an end: the execution could only stop by a limit.",
    ),
    (BAD_EXPRESSION, "An expression or template does not parse."),
    (
        UNKNOWN_PATH,
        "An expression reads a path that can never exist.",
    ),
    (
        SECRET_IN_PURE_NODE,
        "`secrets` is read where secrets are not available.",
    ),
];
