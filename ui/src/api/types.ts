// Made by `npm run types` out of the OpenAPI description; never edited.

export interface paths {
    "/api/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The connections that this server knows, by name */
        get: operations["get_connections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List dead letters */
        get: operations["get_dead_letters"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One of them, with its message */
        get: operations["get_dead_letters_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/{id}/requeue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it go on; may be repeated */
        post: operations["post_dead_letters_id_requeue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let all that a filter finds go on */
        post: operations["post_dead_letters_bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/dead-letters/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count dead letters, up to 10 000 */
        get: operations["get_dead_letters_count"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document for people */
        get: operations["get_docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What keeps open executions from moving */
        get: operations["get_doctor"];
        put?: never;
        /** The same, with repair */
        post: operations["post_doctor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/env": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The names of the variables that expressions see as `env` */
        get: operations["get_env"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Server-sent events about all that a page shows, in one stream */
        get: operations["get_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List executions, newest first */
        get: operations["get_executions"];
        put?: never;
        /** Start an execution */
        post: operations["post_executions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show an execution */
        get: operations["get_executions_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The context as it is now */
        get: operations["get_executions_id_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/continue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on in debug mode */
        post: operations["post_executions_id_continue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/debug": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Hand it to the debugger after the node it is at */
        post: operations["post_executions_id_debug"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/definition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The definition that it runs, also of a deleted schema */
        get: operations["get_executions_id_definition"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare two runs */
        get: operations["get_executions_id_diff"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/diff/pair": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare one visit of a node in two runs */
        get: operations["get_executions_id_diff_pair"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Server-sent events: step, status, log, end */
        get: operations["get_executions_id_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why it is where it is */
        get: operations["get_executions_id_explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A new execution from any step */
        post: operations["post_executions_id_fork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What log nodes wrote */
        get: operations["get_executions_id_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write a note on it */
        post: operations["post_executions_id_notes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/outline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every step without its payloads, in columns */
        get: operations["get_executions_id_outline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start nothing new */
        post: operations["post_executions_id_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on after a pause */
        post: operations["post_executions_id_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A new execution from the failed step */
        post: operations["post_executions_id_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/signals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events that were sent to it, in the order in which they came */
        get: operations["get_executions_id_signals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/signals/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send an event; the body is its payload */
        post: operations["post_executions_id_signals_name"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The steps, in order */
        get: operations["get_executions_id_steps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/steps/{seq}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One step */
        get: operations["get_executions_id_steps_seq"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/steps/{seq}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The context before and after a step */
        get: operations["get_executions_id_steps_seq_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End it */
        post: operations["post_executions_id_stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pause, resume, stop or retry all that a filter finds */
        post: operations["post_executions_bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count executions by status, node or schema, up to 10 000 each */
        get: operations["get_executions_counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What went wrong lately, by error code, schema and node */
        get: operations["get_executions_errors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/expressions/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What a text with expressions gives at a point of an execution; nothing is stored */
        post: operations["post_expressions_evaluate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/expressions/functions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The functions of the expression language */
        get: operations["get_expressions_functions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/format.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schema of a whole schema file, for editors */
        get: operations["get_format_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/gc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Remove what is past its retention, now */
        post: operations["post_gc"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List API keys, newest first */
        get: operations["get_keys"];
        put?: never;
        /** Make an API key; the answer is the only place that shows it */
        post: operations["post_keys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a key, by id or name */
        delete: operations["delete_keys_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is asking, and with what limits */
        get: operations["get_me"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/node-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The node types */
        get: operations["get_node_types"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/node-types/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One node type */
        get: operations["get_node_types_type"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["get_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List quotas: limit, use and how many wait */
        get: operations["get_quotas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/quotas/{kind}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a quota and who holds it */
        get: operations["get_quotas_kind_name"];
        /** Set the limit of a schema, a tenant or a concurrency key */
        put: operations["put_quotas_kind_name"];
        post?: never;
        /** Remove a limit */
        delete: operations["delete_quotas_kind_name"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List scheduled actions */
        get: operations["get_scheduled_actions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a scheduled action */
        get: operations["get_scheduled_actions_id"];
        /** Write a scheduled action */
        put: operations["put_scheduled_actions_id"];
        post?: never;
        /** Delete a scheduled action with its history */
        delete: operations["delete_scheduled_actions_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Attempts that are over, newest first */
        get: operations["get_scheduled_actions_id_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}/firings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The next planned firings, without retries */
        get: operations["get_scheduled_actions_id_firings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let nothing new begin */
        post: operations["post_scheduled_actions_id_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on after a pause; what was missed is left out */
        post: operations["post_scheduled_actions_id_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/{id}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it fire now; a schedule goes on as planned */
        post: operations["post_scheduled_actions_id_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/scheduled-actions/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** When an action would fire, without writing it */
        post: operations["post_scheduled_actions_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List schemas */
        get: operations["get_schemas"];
        put?: never;
        /** Save a new schema */
        post: operations["post_schemas"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show a schema; the ETag is its version */
        get: operations["get_schemas_id"];
        /** Save a new version */
        put: operations["put_schemas_id"];
        post?: never;
        /** Delete a schema; open executions go on */
        delete: operations["delete_schemas_id"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let it be started */
        post: operations["post_schemas_id_activate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/deactivate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keep it from being started */
        post: operations["post_schemas_id_deactivate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/layout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where a schema is drawn; the ETag is the revision */
        get: operations["get_schemas_id_layout"];
        /** Draw it elsewhere; makes no version */
        put: operations["put_schemas_id_layout"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/pins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The nodes whose output is pinned for trial runs */
        get: operations["get_schemas_id_pins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/pins/{node}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One pin, with its output */
        get: operations["get_schemas_id_pins_node"];
        /** Pin the output of a node for trial runs */
        put: operations["put_schemas_id_pins_node"];
        post?: never;
        /** Remove a pin */
        delete: operations["delete_schemas_id_pins_node"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Use a stored version from now on, also an older one */
        post: operations["post_schemas_id_publish"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/trial-node": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run one node by itself, with its effects; nothing is stored */
        post: operations["post_schemas_id_trial_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions, newest first */
        get: operations["get_schemas_id_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schemas/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check a schema without saving it */
        post: operations["post_schemas_validate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The names of the secrets that this server knows */
        get: operations["get_secrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The session of the request */
        get: operations["get_session"];
        put?: never;
        /** Log in with a key; the answer sets a cookie */
        post: operations["post_session"];
        /** Log out; may be repeated */
        delete: operations["delete_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Executions by time: started, how they ended, how long they took */
        get: operations["get_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workers */
        get: operations["get_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process runs */
        get: operations["get_health_live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The store answers */
        get: operations["get_health_ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers for Prometheus */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/webhook/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Call a webhook: any method and body that its trigger takes; or `{schema_id}/{node_id}` to start at a node */
        post: operations["post_webhook_path"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description The answer of a webhook whose execution goes on. */
        Accepted: {
            /** Format: uuid */
            execution_id: string;
            /** @description Where to look for its end; this needs a key. */
            status_url: string;
        };
        /** @description What it does. */
        ActionKind: {
            http_callback: {
                body?: unknown;
                headers?: {
                    [key: string]: unknown;
                } | null;
                /** @description POST if left out. */
                method?: string | null;
                /** @description A duration like `90s` or `1h`. */
                timeout?: string | null;
                url: string;
            };
        } | {
            start_execution: {
                input?: unknown;
                /** @description Name or id. */
                schema: string;
            };
        } | {
            rabbitmq_publish: {
                /** @description A connection of the configuration; the cluster's own broker if left out. */
                connection?: string | null;
                exchange?: string | null;
                message?: unknown;
                routing_key?: string | null;
            };
        } | {
            mock: Record<string, never>;
        };
        /** @description Notes of the writer, and what Pawl adds to them. */
        ActionMeta: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            written_by: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Delay = min(`max`, `min` + `scale` × `backoff`^failures). */
        ActionRetry: {
            backoff?: number | null;
            /** @description A duration like `90s` or `1h`. */
            max?: string | null;
            /** @description 0 if left out. */
            max_retries?: number | null;
            /** @description A duration like `90s` or `1h`. */
            min?: string | null;
            /** @description A duration like `90s` or `1h`. */
            scale?: string | null;
        };
        /** @description When, and what. */
        ActionSpec: {
            /** @description Exactly one of them. */
            action: components["schemas"]["ActionKind"];
            /**
             * Format: date-time
             * @description Nothing begins after it.
             */
            deadline?: string | null;
            /** @description Exactly one of them. */
            policy: components["schemas"]["Policy"];
            /**
             * Format: date-time
             * @description Now if left out; not older than 10 minutes.
             */
            start_at?: string | null;
        };
        /** @description What has become of an action so far. */
        ActionStatus: {
            /** @description Attempts at this firing. */
            attempts: number;
            /** @description Attempts begun in this generation. */
            begun: number;
            /**
             * Format: date-time
             * @description Since when this firing is under way.
             */
            begun_at: string | null;
            /**
             * Format: date-time
             * @description Firings planned up to this moment were missed.
             */
            behind_until: string | null;
            /** @description Attempts failed or interrupted since the last success. */
            consecutive_failures: number;
            current: components["schemas"]["CurrentAttempt"] | null;
            failed: number;
            /** @enum {string|null} */
            finished: "done" | "out_of_retries" | "deadline" | null;
            /** Format: date-time */
            finished_at: string | null;
            /** @description Which life of the action this is. */
            generation: number;
            /** @description Attempts whose end is not known. */
            interrupted: number;
            /** @description Those of them that were interrupted; they use up no retries. */
            interruptions: number;
            last: components["schemas"]["Attempt"] | null;
            /**
             * Format: date-time
             * @description The latest planned time that was ever begun.
             */
            last_planned_at: string | null;
            /** @description Firings that were left out last. */
            last_skip: components["schemas"]["SkippedFirings"] | null;
            /**
             * Format: date-time
             * @description The latest planned time that succeeded.
             */
            last_success_planned_at: string | null;
            /** Format: date-time */
            paused_at: string | null;
            /** @description It was paused with the schema it belongs to, and goes on with it. */
            paused_with_schema: boolean;
            /**
             * Format: date-time
             * @description The time that the coming firing, or the one under way, was planned for.
             */
            planned_at: string | null;
            /**
             * Format: date-time
             * @description The one that began before the firing under way.
             */
            previous_planned_at: string | null;
            /**
             * Format: date-time
             * @description When it is looked at next.
             */
            scheduled_at: string | null;
            successful: number;
        };
        /** @description Any JSON value. */
        Any: unknown;
        /** @description An attempt that is over. */
        Attempt: {
            /** @description Of a failed one. In lists of attempts it is null for others; elsewhere it is left out. */
            error?: components["schemas"]["AttemptError"] | null;
            /** Format: date-time */
            finished_at: string;
            /** @description Which life of the action it belongs to; in lists of attempts. */
            generation?: number | null;
            /** @description Its place among those of its firing. */
            number: number;
            /** @description Its place among all attempts of the generation. */
            ordinal: number;
            /** @enum {string} */
            outcome: "success" | "failed" | "interrupted";
            /** Format: date-time */
            planned_at: string;
            /** Format: date-time */
            started_at: string;
        };
        /** @description Why an attempt failed. */
        AttemptError: {
            code: string;
            message: string;
        };
        /** @description One page of a list. */
        AttemptPage: {
            items: components["schemas"]["Attempt"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description How long each run took. */
        BothDurations: {
            left: number;
            right: number;
        };
        /** @description How many executions each outcome had. */
        BulkOutcomes: {
            /** @description The state of the execution did not allow it. */
            conflict: number;
            done: number;
            failed: number;
            /** @description Gone since it was listed. */
            not_found: number;
            /** @description Retried before; nothing was done. */
            skipped: number;
        };
        /** @description One action on every execution that a filter finds. */
        BulkRequest: {
            /** @enum {string} */
            action: "pause" | "resume" | "stop" | "retry";
            /** @description `next` of the call before. */
            cursor?: string | null;
            /** @description True if left out: only count. */
            dry_run?: boolean | null;
            filter: components["schemas"]["Filter"];
        };
        /** @description What a bulk action did, or would do. */
        BulkResult: {
            /** @enum {string} */
            action: "pause" | "resume" | "stop" | "retry";
            /** @description Of a dry run: how many of them the action would do something to. */
            applicable?: number | null;
            dry_run: boolean;
            /** @description Of a dry run: at most so many in one call. */
            limit?: number | null;
            /** @description How many the filter finds, or how many were tried. */
            matched: number;
            /** @description Left out by a dry run; null if there are no more. */
            next?: string | null;
            outcomes?: components["schemas"]["BulkOutcomes"] | null;
        };
        /** @description A frame around nodes. */
        CanvasGroup: {
            color?: string | null;
            height: number;
            /** @description Its own among the groups, up to 200 characters. */
            id: string;
            /** @description Up to 200 characters. */
            title: string;
            width: number;
            x: number;
            y: number;
        };
        /** @description A text on the canvas. */
        CanvasNote: {
            color?: string | null;
            height: number;
            /** @description Its own among the notes, up to 200 characters. */
            id: string;
            /** @description Up to 4000 characters. */
            text: string;
            width: number;
            x: number;
            y: number;
        };
        /** @description One place at which two values differ. */
        Change: {
            /** @description Any. */
            after?: unknown;
            /** @description Any. */
            before?: unknown;
            /** @enum {string} */
            op: "added" | "removed" | "changed";
            /** @description JSON pointer. */
            path: string;
        };
        /** @description The events `letters`, `workers` and `schemas`: something there has changed. */
        ChangeEvent: Record<string, never>;
        /** @description One of the two runs. */
        ComparedRun: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at: string | null;
            /** @description Steps at the beginning that are not kept any more; left out if there are none. */
            gone?: components["schemas"]["GoneSteps"] | null;
            /** Format: uuid */
            id: string;
            schema: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "completed" | "failed" | "stopped" | "queued" | "sleeping" | "waiting" | "waiting_debug" | "failed_stuck";
            version: number;
        };
        /** @description Executions at once. */
        Concurrency: {
            /** @description Counts each value of this text apart. */
            key?: string | null;
            limit: number;
        };
        /** @description Both contexts, or a view of one. */
        ContextAnswer: components["schemas"]["StepContext"] | components["schemas"]["ContextView"];
        /** @description A part of a context, or of what a step changed in it, without what is too large. */
        ContextView: {
            /** @description Of the whole part as compact JSON. */
            bytes: number;
            /** @description JSON pointers into this answer: what was cut. */
            cut: string[];
            /** @description What the step changed; left out of other views. */
            difference?: components["schemas"]["Change"][] | null;
            /** @description Changes that are not shown at all. */
            left_out: number;
            /** @description Of the part; empty for all of it. */
            pointer: string;
            seq: number;
            /** @description The part. Instead of what is too large it has `{"$cut": bytes, "type", "items" or "start"}`; left out of differences. */
            value?: unknown;
            /** @enum {string} */
            view: "before" | "after" | "difference";
        };
        /** @description How to go on in debug mode. */
        ContinueRequest: {
            /** @description 409 unless it stands after this step: a double click does one step. */
            expect_seq?: number | null;
            /** @description "step" (default), "run", {"to": NODE} or {"until": [NODE, …]} */
            mode?: (("step" | "run") | {
                to: string;
            } | {
                until: string[];
            }) | null;
            /** @description Set before it goes on. */
            variables?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description One group of a count. */
        CountGroup: {
            /** @description There are at least so many, perhaps more. */
            capped: boolean;
            count: number;
            /** @description A status, a node id or the id of a schema. */
            key: string;
            /** @description The name of the schema. */
            schema?: string | null;
        };
        /** @description A key that was just made. */
        CreatedKey: {
            /** Format: date-time */
            created_at: string;
            created_by: string;
            email: string | null;
            /** Format: date-time */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /** @description The key itself. It is never shown again. */
            key: string;
            /**
             * Format: date-time
             * @description To the minute.
             */
            last_used_at: string | null;
            name: string;
            /** Format: date-time */
            revoked_at: string | null;
            /** @enum {string} */
            role: "viewer" | "operator" | "editor" | "admin";
            /** @description How the key begins; the rest is secret and not stored. */
            starts_with: string;
        };
        /** @description An attempt that is under way. */
        CurrentAttempt: {
            /** @description Its place among those of its firing. */
            number: number;
            /** @description Its place among all attempts of the generation. */
            ordinal: number;
            /** Format: date-time */
            planned_at: string;
            /** Format: date-time */
            started_at: string;
        };
        /** @description What expressions see now. */
        CurrentContext: {
            context: {
                [key: string]: unknown;
            };
            seq: number;
        };
        /** @description A message that could not be handled. */
        DeadLetter: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: uuid
             * @description Null if the message did not say.
             */
            execution_id: string | null;
            id: number;
            /** @description Length of the message, if it is kept. */
            message_bytes: number | null;
            reason: string;
            /**
             * Format: uuid
             * @description The execution that goes on in its place.
             */
            requeued_as: string | null;
            /** Format: date-time */
            requeued_at: string | null;
        };
        /** @description One page of a list. */
        DeadLetterPage: {
            items: components["schemas"]["DeadLetter"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A schema, as JSON or YAML. */
        Definition: {
            description?: string | null;
            edges?: components["schemas"]["Edge"][] | null;
            /** @description The number under which other programs know it; unique. */
            external_id?: number | null;
            /** @description Unique; a-z, 0-9 and -. */
            name: string;
            nodes: components["schemas"]["Node"][];
            /** @description Limits, priority, concurrency. */
            settings?: components["schemas"]["Settings"] | null;
            triggers?: components["schemas"]["Trigger"][] | null;
        };
        /** @description One problem of a schema or of a scheduled action. */
        Diagnostic: {
            /** @description Stable and in upper case. */
            code: string;
            column?: number | null;
            file?: string | null;
            /** @description How to fix it. */
            hint?: string | null;
            length?: number | null;
            line?: number | null;
            message: string;
            node_id?: string | null;
            /** @description What the message names, for programs that say it in another language. Not every message has them. */
            params?: {
                [key: string]: unknown;
            };
            /** @description JSON pointer to the value in question. */
            pointer: string;
            /** @enum {string} */
            severity: "error" | "warning" | "note";
        };
        /** @description Two runs side by side. */
        Difference: {
            duration_ms: components["schemas"]["BothDurations"];
            /** @description The first step at which path, status or values differ; null if they do not. */
            first_divergence: components["schemas"]["Divergence"] | null;
            left: components["schemas"]["ComparedRun"];
            right: components["schemas"]["ComparedRun"];
            same_path: boolean;
            steps: components["schemas"]["StepPair"][];
        };
        /** @description Where two runs part. */
        Divergence: {
            /** @description Its place in the runs, from 1. */
            index: number;
            left: components["schemas"]["StepPlace"] | null;
            right: components["schemas"]["StepPlace"] | null;
            /** @description `path`, `status`, `output`, `error` or `length`. */
            what: string;
        };
        /** @description One problem. */
        DoctorFinding: {
            detail: string;
            /** @description Empty for a finding about a quota. */
            execution_id: string;
            fixed: boolean;
            problem: string;
            /** @description The quota, if the finding is about one. */
            quota?: string | null;
            schema: string;
        };
        /** @description What keeps open executions from moving. */
        DoctorReport: {
            /** @description Facts about the store. */
            about: {
                [key: string]: unknown;
            };
            findings: components["schemas"]["DoctorFinding"][];
            healthy: boolean;
            open_executions: number;
        };
        DoctorRequest: {
            /** @description True if left out. */
            fix?: boolean | null;
        };
        /** @description Where a node goes on to. */
        Edge: {
            source: string;
            /** @description The exit; success if left out. */
            sourceHandle?: string | null;
            target: string;
        };
        /** @description The shape of every refusal. */
        Error: {
            /** @description More for programs, or null. Of `INVALID_INPUT`: `{"problems": [{"pointer", "message"}], "more"}`. */
            details: unknown;
            /** @description A stable code in upper case. */
            error: string;
            /** @description For people. */
            message: string;
            /** @description What the message names, for programs that say it in another language; `details` can name more. */
            params?: {
                [key: string]: unknown;
            };
        };
        /** @description Executions that ended with the same error at the same node. */
        ErrorGroup: {
            code: string;
            count: number;
            /**
             * Format: uuid
             * @description The newest of them.
             */
            last: string;
            /**
             * Format: date-time
             * @description When the newest was created.
             */
            last_at: string;
            /** @description The message of the newest, at most 200 characters. */
            last_message: string;
            /** @description The node they stand at. */
            node: string;
            schema: string;
            /** Format: uuid */
            schema_id: string;
            /** @description Of them, how many were not retried. */
            unresolved: number;
        };
        /** @description What went wrong, by error. */
        ErrorGroups: {
            /** @description There may be more: only so many of the newest executions of each status are looked at. */
            capped: boolean;
            capped_at: number;
            /** @description The most frequent first, then the newest. */
            groups: components["schemas"]["ErrorGroup"][];
            /** @description Executions of all groups, also of those that are not here. */
            total: number;
        };
        /** @description A text with expressions, and where to evaluate it. */
        EvaluateRequest: {
            at: components["schemas"]["EvaluationPlace"];
            /**
             * @description As a field of a node reads it: with `{{ }}`, with `{{ }}` in a URL, or as one expression.
             * @enum {string}
             */
            mode: "template" | "url" | "expression";
            /** @description Up to 64 KiB. */
            text: string;
        };
        /** @description What the text gives, or what is wrong with it. */
        Evaluation: {
            /** @description The size of a value that is cut, as JSON. */
            bytes?: number | null;
            /** @description The value is too large to be shown. */
            cut?: boolean;
            error?: components["schemas"]["EvaluationError"] | null;
            ok: boolean;
            /** @enum {string|null} */
            type?: "null" | "boolean" | "integer" | "number" | "string" | "list" | "object" | null;
            /** @description Left out if there is none, or if it is cut. */
            value?: unknown;
        };
        /** @description Why a text gives nothing, and where in the text. */
        EvaluationError: {
            /** @enum {string} */
            code: "UNDEFINED_PATH" | "EXPRESSION_ERROR" | "TYPE_ERROR" | "MATH_ERROR" | "LIMIT_EXCEEDED";
            end: number;
            /** @description How to fix it. */
            hint: string | null;
            message: string;
            /** @description Counted as strings of JavaScript are, in UTF-16 units. */
            start: number;
        };
        /** @description A point of an execution, or a context: one of the two. */
        EvaluationPlace: {
            /** @description The names that the text may begin with: `input`, `steps`, `variables`. */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Format: uuid */
            execution?: string | null;
            /** @description After this step of the execution; 0 is before the first. */
            seq?: number | null;
        };
        /** @description Events `step` (a Step), `status` and `end` (an Execution). The id of an event is a version of the execution: everything up to it has been told. */
        EventStream: string;
        /** @description One run of one version of a schema. */
        Execution: {
            /** @description The try of the current node, from 1. */
            attempt: number;
            /** @description Steps up to here belong to the execution it was made from. */
            base_seq: number;
            correlation_id: string;
            /** Format: date-time */
            created_at: string;
            created_by: string;
            /** @description The node it stands at. */
            current_node_id: string;
            /** @description The last finished step, `<id>:<seq>`. */
            current_step_id: string | null;
            /** Format: date-time */
            deadline_at: string;
            debug_mode: boolean;
            /**
             * Format: date-time
             * @description When it came to the node it stands at: waits and timeouts count from here.
             */
            entered_at: string;
            /** @description How it failed. */
            error: components["schemas"]["Failure"] | null;
            /** @description Grows with every change; the cursor of its events. */
            event_version: number;
            /** Format: date-time */
            finished_at: string | null;
            /** Format: uuid */
            forked_from: string | null;
            /** @enum {string|null} */
            hold: "pause" | "debug" | null;
            /** Format: uuid */
            id: string;
            idempotency_key: string | null;
            /** @description What it was started with; left out unless it was asked for. */
            initial?: components["schemas"]["StartRecord"] | null;
            labels: {
                [key: string]: unknown;
            };
            /** @description Why the try before failed, while the node is tried again. Long details are left out. */
            last_error: components["schemas"]["Failure"] | null;
            /** @description Null if no worker has it. */
            lease: components["schemas"]["Lease"] | null;
            /** @description What people wrote on it, oldest first; left out if there is nothing, and in lists. */
            notes?: components["schemas"]["Note"][];
            /** @description What it ended with. */
            output: unknown;
            /** @enum {string} */
            priority: "high" | "normal" | "low";
            /** Format: date-time */
            queued_at: string | null;
            /** @description The quotas it counts against, like `tenant:acme`. */
            quotas: string[];
            /** @description Times it was picked up since its last commit. */
            recoveries: number;
            /**
             * Format: uuid
             * @description Its newest retry.
             */
            retried_as: string | null;
            /** Format: uuid */
            retry_of: string | null;
            /** @description The schema's name. */
            schema: string;
            /** Format: uuid */
            schema_id: string;
            /** @description Number of the last finished step. */
            seq: number;
            /** Format: date-time */
            started_at: string | null;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "completed" | "failed" | "stopped" | "queued" | "sleeping" | "waiting" | "waiting_debug" | "failed_stuck";
            stop_requested: boolean;
            tenant: string | null;
            /** @description An editor's test, which lists and statistics leave out. */
            trial: boolean;
            /** @description The tries of that node so far; none in brief lists. */
            tries: components["schemas"]["Try"][];
            /** @description Of the schema. */
            version: number;
            wait: components["schemas"]["Wait"] | null;
            /** @description What the caller of a retry, fork or continue may not have meant; left out if there is nothing. */
            warnings?: string[];
        };
        /** @description How many executions a filter finds, by group. */
        ExecutionCounts: {
            /** @description There may be more: only so many of the newest executions are looked at. */
            capped: boolean;
            /** @description No group is counted further. */
            capped_at: number;
            /** @enum {string} */
            group: "status" | "node" | "schema";
            /** @description Those with at least one: statuses in their order, nodes and schemas the largest first. */
            groups: components["schemas"]["CountGroup"][];
            /** @description Of all groups. */
            total: number;
        };
        /** @description The definition that an execution runs, also of a schema that was changed or deleted since. */
        ExecutionDefinition: {
            /** Format: date-time */
            created_at: string;
            created_by: string;
            definition: components["schemas"]["Definition"];
            /** @description `?version=` shows the text that was sent. */
            has_source: boolean;
            hash: string;
            language: number;
            /** @description What its author wrote about it. */
            note: string | null;
            /** @description Starts without a version and triggers use this one. */
            published: boolean;
            /** @description The schema's name. */
            schema: string;
            /** Format: uuid */
            schema_id: string;
            version: number;
        };
        /** @description One page of a list. */
        ExecutionPage: {
            items: components["schemas"]["Execution"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description Why an execution is where it is. */
        Explanation: {
            facts: {
                [key: string]: unknown;
            };
            /** @description What the sentence names, as data, so that it can be said in another language. */
            params: {
                [key: string]: unknown;
            };
            /** @description Stable, for programs. */
            reason: string;
            /** @description For people. */
            sentence: string;
        };
        /** @description A function of the expression language. */
        ExpressionFunction: {
            category: string;
            doc: string;
            example: string;
            name: string;
            /** @description What the example gives, as JSON text. */
            result: string;
            /** @description `name(needed, optional?, repeated...)`; `x => y` stands for an arrow function. */
            signature: string;
        };
        /** @description One page of a list. */
        ExpressionFunctionPage: {
            items: components["schemas"]["ExpressionFunction"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description How a node or an execution failed. */
        Failure: {
            code: string;
            /** @description By code; left out if there are none, and in brief lists. */
            details?: unknown;
            message: string;
            /** @description Where an execution failed. */
            node_id?: string | null;
            /** @description Left out in brief lists. */
            retryable?: boolean | null;
        };
        /** @description Which executions. A field that is there must say something. */
        Filter: {
            created_by?: string | null;
            /** @description The code of the error it ended with. */
            error_code?: string | null;
            /**
             * Format: date-time
             * @description Ended at this time or later.
             */
            finished_since?: string | null;
            /** Format: uuid */
            forked_from?: string | null;
            /** @description Only these, at most 500. */
            ids?: string[] | null;
            /** @description A label and its value, `team:payments`. */
            label?: string | null;
            /** @description It took longer than this, or has taken longer by now: `30s`. */
            longer_than?: string | null;
            /** @description The node it stands at. */
            node?: string | null;
            /** Format: uuid */
            retry_of?: string | null;
            schema?: string | null;
            schema_id?: string | null;
            /** Format: date-time */
            since?: string | null;
            /** @description A comma list or a list of names. */
            status?: (string | ("pending" | "running" | "paused" | "completed" | "failed" | "stopped" | "queued" | "sleeping" | "waiting" | "waiting_debug" | "failed_stuck")[]) | null;
            tenant?: string | null;
            text?: string | null;
            /** @description Only trial runs; left out: none of them, unless `ids` names some. */
            trial?: boolean | null;
            /** @description Only what failed, got stuck or was stopped and has not been retried. */
            unresolved?: boolean | null;
            /** Format: date-time */
            until?: string | null;
            /** @description Of the schema. */
            version?: number | null;
        };
        /** @description One page of a list. */
        FiringPage: {
            items: string[];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description How to go on from a step as a new execution. */
        ForkRequest: {
            debug_mode?: boolean | null;
            /** @description The last step to take over; 0 for none. */
            from_seq: number;
            /**
             * @description Takes the place of the whole input; not null.
             * @default null
             */
            input: unknown;
            variables?: {
                [key: string]: unknown;
            } | null;
            /** @description `latest`, which is the published one, or a number; the same version if left out. */
            version?: unknown;
        };
        /** @description What was removed, or would be. */
        GcReport: {
            /** @description Given back to the disk. */
            bytes: number;
            dead_letters: number;
            /** @description Partitions of the history that were dropped as a whole. */
            dropped_tables: string[];
            dry_run: boolean;
            executions: number;
            /** @description Steps, snapshots and log lines that were deleted one by one. */
            history_rows: number;
            /** @description One call does a part; another would do more. */
            more: boolean;
            /** @description Give it as `after` to go on. */
            next: string | null;
            schemas: components["schemas"]["GcSchema"][];
            signals: number;
        };
        GcRequest: {
            /** @description `next` of the answer before. */
            after?: string | null;
            /**
             * @description Only count what would go; not null.
             * @default null
             */
            dry_run: boolean | null;
        };
        /** @description What was removed of one schema's executions. */
        GcSchema: {
            executions: number;
            retention: string;
            /** @description Null if it was deleted. */
            schema: string | null;
            /** Format: uuid */
            schema_id: string;
        };
        /** @description Steps that are not kept any more. */
        GoneSteps: {
            /** Format: uuid */
            execution_id: string;
            message: string;
            up_to: number;
        };
        /** @description May work be sent to this process? */
        Health: {
            /** @description Left out if all is well; else `ok` or what is wrong, by what was looked at. */
            checks?: {
                [key: string]: string;
            } | null;
            /**
             * @description `degraded`: usable, but something is wrong.
             * @enum {string}
             */
            status: "ok" | "degraded" | "unavailable";
        };
        /** @description The event `hello`, which comes first. */
        HelloEvent: {
            /** Format: date-time */
            server_time: string;
            /** @description As in `GET /api/me`. */
            ui_build: string;
            version: string;
        };
        Html: string;
        /** @description An API key, without its secret. */
        Key: {
            /** Format: date-time */
            created_at: string;
            created_by: string;
            email: string | null;
            /** Format: date-time */
            expires_at: string | null;
            /** Format: uuid */
            id: string;
            /**
             * Format: date-time
             * @description To the minute.
             */
            last_used_at: string | null;
            name: string;
            /** Format: date-time */
            revoked_at: string | null;
            /** @enum {string} */
            role: "viewer" | "operator" | "editor" | "admin";
            /** @description How the key begins; the rest is secret and not stored. */
            starts_with: string;
        };
        /** @description One page of a list. */
        KeyPage: {
            items: components["schemas"]["Key"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A secret or a variable of the environment. Its value is never shown. */
        KnownName: {
            name: string;
        };
        /** @description One page of a list. */
        KnownNamePage: {
            items: components["schemas"]["KnownName"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description Where a schema is drawn. */
        Layout: {
            /**
             * @description Frames around nodes. Up to 500.
             * @default []
             */
            groups: components["schemas"]["CanvasGroup"][];
            /**
             * @description Texts on the canvas. Up to 500.
             * @default []
             */
            notes: components["schemas"]["CanvasNote"][];
            /**
             * @description By the id of a node; nodes that are not here are placed by the canvas. Up to 5000.
             * @default {}
             */
            positions: {
                [key: string]: components["schemas"]["Point"];
            };
        };
        /** @description The worker that has an execution now. */
        Lease: {
            /** @description The id of a worker. */
            owner: string;
            /**
             * Format: date-time
             * @description Over and not renewed: the worker has vanished, and another takes it.
             */
            until: string;
        };
        /** @description One action on every dead letter that a filter finds. */
        LetterBulkRequest: {
            /**
             * @description `requeue`
             * @enum {string}
             */
            action: "requeue";
            /** @description `next` of the call before. */
            cursor?: string | null;
            /** @description True if left out: only count. */
            dry_run?: boolean | null;
            filter: components["schemas"]["LetterFilter"];
        };
        /** @description What a bulk action on dead letters did, or would do. */
        LetterBulkResult: {
            /** @enum {string} */
            action: "requeue";
            /** @description There are more. */
            capped: boolean;
            dry_run: boolean;
            /** @description How many the filter finds, at most 10 000, or how many were tried, at most 500. */
            matched: number;
            /** @description Null if there are no more. */
            next: string | null;
            /** @description Null for a dry run. */
            outcomes: components["schemas"]["LetterOutcomes"] | null;
            /** @description The first 20 that could not go on, and why. */
            refused: components["schemas"]["RefusedLetter"][];
        };
        /** @description How many dead letters there are. */
        LetterCount: {
            /** @description There are more. */
            capped: boolean;
            capped_at: number;
            /** @description At most `capped_at`. */
            count: number;
        };
        /** @description Which dead letters, of those that were not requeued. */
        LetterFilter: {
            /** @description Only these, at most 500. */
            ids?: number[] | null;
            /** @description True, if it is there. */
            open?: boolean | null;
            /** @description A part of the reason. */
            reason?: string | null;
        };
        /** @description How many dead letters each outcome had. */
        LetterOutcomes: {
            failed: number;
            /** @description A new message. */
            looked: number;
            /** @description It has completed. */
            nothing: number;
            refused: number;
            /** @description A new execution. */
            retried: number;
            /** @description The execution that another program asked for. */
            started: number;
        };
        /** @description What requests must not exceed. */
        Limits: {
            /** @description Executions of one bulk request. */
            bulk: number;
            /** @description Items of a page. */
            page: number;
            /** @description Bytes of a request body. */
            request_body: number;
            /** @description Bytes of a schema. */
            schema: number;
            /** @description The longest `?wait=`. */
            wait_seconds: number;
            /** @description Topics `run:ID` of one stream of events. */
            watched_runs: number;
        };
        /** @description Events: `hello` (a HelloEvent), `runs` (a RunsEvent), `run` (a RunEvent), `log` (a LogEvent), `letters`, `workers` and `schemas` (a ChangeEvent). */
        LiveStream: string;
        /** @description The event `log`: what a node wrote to the log of an execution. */
        LogEvent: {
            /** Format: uuid */
            id: string;
            line: components["schemas"]["LogLine"];
        };
        /** @description A login of a browser. */
        LoginRequest: {
            /** @description An API key. */
            key: string;
        };
        /** @description What a node wrote to the log of its execution. */
        LogLine: {
            /** Format: date-time */
            at: string;
            id: number;
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
            message: string;
            node_id: string;
            seq: number;
        };
        /** @description One page of a list. */
        LogLinePage: {
            items: components["schemas"]["LogLine"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description Who is asking, and what they are talking to. */
        Me: {
            /** @description What stands in `created_by` of what you make. */
            created_by: string;
            limits: components["schemas"]["Limits"];
            /**
             * @description `none` in `pawl dev`.
             * @enum {string}
             */
            login: "none" | "key" | "session";
            /** @enum {string} */
            mode: "dev" | "server";
            /** @enum {string} */
            role: "viewer" | "operator" | "editor" | "admin";
            /** Format: date-time */
            server_time: string;
            /** @description Another value than that of an open page: the page is of another version. */
            ui_build: string;
            /** @description As expressions see `user`. */
            user: unknown;
            version: string;
        };
        /** @description The text format of Prometheus, version 0.0.4. */
        Metrics: string;
        /** @description A connection of the configuration. Its address is never shown. */
        NamedConnection: {
            /** @enum {string} */
            kind: "postgres" | "sqlite" | "rabbitmq" | "unknown";
            name: string;
        };
        /** @description One page of a list. */
        NamedConnectionPage: {
            items: components["schemas"]["NamedConnection"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A key to be made. */
        NewKey: {
            /** @description The address of its owner: `user.email` in what it starts. */
            email?: string | null;
            /** @description `90d`, or seconds; never if left out. */
            expires_in?: string | number | null;
            /** @description What it is for: 1 to 64 letters, digits, `-`, `_`, `.`, `@`. */
            name: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "editor" | "admin";
        };
        /** @description What to write on an execution. */
        NewNote: {
            /** @description Up to 4096 bytes of UTF-8. */
            text: string;
        };
        /** @description A node of a schema. */
        Node: {
            /** @description See the node type. */
            config?: {
                [key: string]: unknown;
            } | null;
            disabled?: boolean | null;
            id: string;
            name?: string | null;
            /** @enum {string|null} */
            on_error?: "fail" | "continue" | null;
            /** @enum {string|null} */
            on_interrupt?: "rerun" | "fail" | null;
            retry?: components["schemas"]["Retry"] | null;
            /** @description Per try. */
            timeout?: string | number | null;
            /** @description One of /api/node-types. */
            type: string;
        };
        /** @description A line that the node wrote. */
        NodeTrialLog: {
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
            message: string;
        };
        /** @description One node to be tried by itself. */
        NodeTrialRequest: {
            /** @description What it sees: `input`, `variables`, `steps`, `webhook`. */
            context?: {
                [key: string]: unknown;
            } | null;
            /** @description The node as the schema has it, or as it is going to. */
            node: {
                [key: string]: unknown;
            };
            /** @description The node whose output is `$json` in a script. */
            previous?: string | null;
        };
        /** @description What a node did that was tried by itself. Nothing of it is stored. */
        NodeTrialResult: {
            /** @description Variables that it would set. */
            changes: {
                [key: string]: unknown;
            };
            duration_ms: number;
            /** @description `{code, message, retryable, details}`, or null. */
            error: unknown;
            /** Format: date-time */
            finished_at: string;
            /** @description The exit it would leave by; null if it ends the run or waits. */
            handle: string | null;
            /** @description Its config with all expressions evaluated. */
            input: unknown;
            logs: components["schemas"]["NodeTrialLog"][];
            output: unknown;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "success" | "failed" | "skipped";
            /** @description What it would wait for; null if it would not wait. */
            waits: components["schemas"]["NodeTrialWait"] | null;
        };
        /** @description What a node would wait for: a time, an event, or an event until a time. */
        NodeTrialWait: {
            event: string | null;
            /** Format: date-time */
            until: string | null;
        };
        /** @description What a node of this type does and takes. */
        NodeType: {
            category: string;
            /**
             * @description JSON Schema 2020-12. Each field has a `title`; `x-pawl-mode` says how it reads a text, `x-pawl-language` what the
             *     text is written in, `x-pawl-source` where its names come from (`connections`, `secrets`), `x-pawl-when` the field and
             *     the values with which it means something.
             */
            config_schema: {
                [key: string]: unknown;
            };
            /** @description Markdown. */
            doc: string;
            /** @description YAML. */
            example: string;
            /** @description Where in the config more exits are named: a JSON pointer in which `*` stands for each item of a list. */
            exits_from?: string | null;
            handles: string[];
            output: string;
            /** @description JSON Schema 2020-12 of `steps.X.output`; an empty object says nothing. */
            output_schema: {
                [key: string]: unknown;
            };
            pure: boolean;
            summary: string;
            title: string;
            type: string;
        };
        /** @description One page of a list. */
        NodeTypePage: {
            items: components["schemas"]["NodeType"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A note that a person wrote on an execution. */
        Note: {
            /** Format: date-time */
            created_at: string;
            /** @description `key:…` or `dev`. */
            created_by: string;
            /** Format: uuid */
            id: string;
            text: string;
        };
        /** @description Every step without its payloads, in columns of the same length: entry `i` is step `from + i`. */
        Outline: {
            /** @description Steps up to here were taken over. */
            base_seq: number;
            /** @description Microseconds. */
            duration: number[];
            /** @description The step of the first entry, also where there is none yet. */
            from: number;
            /** @description Steps at the beginning that are not kept any more; left out if there are none. */
            gone?: components["schemas"]["GoneSteps"] | null;
            /** @description The exit; null if it left by none, or by one that is not known. */
            handle: (number | null)[];
            /** @description What `handle` counts. */
            handles: string[];
            /** @description Give it as `after` for the rest; null at the end. */
            next: number | null;
            node: number[];
            /** @description What `node` counts. */
            nodes: components["schemas"]["OutlinedNode"][];
            /**
             * Format: date-time
             * @description What `start` counts from; null if there is no entry.
             */
            origin: string | null;
            /** @description The last finished step of the execution. */
            seq: number;
            /** @description Microseconds after `origin`. */
            start: number[];
            status: number[];
            /** @description What `status` counts. */
            statuses: ("success" | "failed" | "skipped")[];
            /** @description How often the node was tried. */
            tries: number[];
        };
        /** @description A node that was visited. */
        OutlinedNode: {
            id: string;
            type: string;
        };
        /** @description An output that trial runs use instead of running the node. */
        Pin: {
            /** @description Of the output. */
            bytes: number;
            /** @description Null: the exit that an edge without a name means. */
            handle: string | null;
            node: string;
            /** @description Left out in lists. */
            output?: unknown;
            /** Format: date-time */
            updated_at: string;
            updated_by: string;
        };
        /** @description One page of a list. */
        PinPage: {
            items: components["schemas"]["Pin"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        Point: {
            x: number;
            y: number;
        };
        /** @description When it fires. */
        Policy: {
            once: {
                retry?: components["schemas"]["ActionRetry"] | null;
            };
        } | {
            /** @description What becomes of firings that meet another one, or were missed. */
            periodic: {
                /**
                 * @description What becomes of firings that were missed while no worker ran.
                 * @enum {string|null}
                 */
                catch_up?: "none" | "last" | "all" | null;
                /**
                 * @description What a firing does whose time comes while the one before is under way.
                 * @enum {string|null}
                 */
                overlap?: "skip" | "queue" | "allow" | "cancel_previous" | null;
                /** @description 1s or more. */
                period: string;
                retry?: components["schemas"]["ActionRetry"] | null;
            };
        } | {
            /** @description What becomes of firings that meet another one, or were missed. */
            cron: {
                /**
                 * @description What becomes of firings that were missed while no worker ran.
                 * @enum {string|null}
                 */
                catch_up?: "none" | "last" | "all" | null;
                /** @description Five fields, six with seconds first, or `@daily`. */
                expr: string;
                /**
                 * @description What a firing does whose time comes while the one before is under way.
                 * @enum {string|null}
                 */
                overlap?: "skip" | "queue" | "allow" | "cancel_previous" | null;
                retry?: components["schemas"]["ActionRetry"] | null;
                /** @description UTC if left out. */
                timezone?: string | null;
            };
        };
        /** @description An action whose firings are asked for, as JSON or YAML. */
        PreviewAction: {
            count?: number | null;
            spec: components["schemas"]["ActionSpec"];
        };
        /** @description Which version to use from now on. */
        PublishRequest: {
            /** @description Any stored version, also an older one. */
            version: number;
        };
        /** @description An action to be written, as JSON or YAML. */
        PutAction: {
            /** @description Notes of your own. */
            meta?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description What to do if there is one of this id: refuse, keep its status and next time, or begin anew.
             * @enum {string|null}
             */
            override?: "none" | "meta_and_spec_only" | "all" | null;
            spec: components["schemas"]["ActionSpec"];
        };
        /** @description An output to use instead of running the node. */
        PutPin: {
            /** @description The exit to leave by; left out, the one that an edge without a name means. */
            handle?: string | null;
            /**
             * @description What `steps.NODE.output` is. Up to 256 KiB; null is a value.
             * @default null
             */
            output: unknown;
        };
        /** @description How many executions may be under way at once. */
        Quota: {
            /** @description Who holds it, longest first, at most 100; only when one quota is asked for. */
            holders?: components["schemas"]["QuotaHolder"][] | null;
            /** @enum {string} */
            kind: "schema" | "tenant" | "key";
            limit: number | null;
            /** @description A schema's name, a tenant, or a schema's name, a slash and the value of its concurrency key. */
            name: string;
            rate: string | null;
            /**
             * @description Who set it; `settings` are those of a schema.
             * @enum {string}
             */
            source: "api" | "config" | "settings";
            /** Format: date-time */
            updated_at: string;
            /** @description Executions that hold a place in it. */
            used: number;
            /** @description Executions in line that would take one. */
            waiting: number;
        };
        /** @description An execution that holds a place in a quota. */
        QuotaHolder: {
            /** Format: uuid */
            execution_id: string;
            /** Format: date-time */
            since: string;
        };
        /** @description One page of a list. */
        QuotaPage: {
            items: components["schemas"]["Quota"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A dead letter that could not go on. */
        RefusedLetter: {
            /** @description A stable code in upper case. */
            error: string;
            id: number;
            message: string;
        };
        /** @description How a dead letter goes on. */
        Requeued: {
            /**
             * @description A new message; a new execution; the execution that another program asked for; nothing, because it has completed.
             * @enum {string}
             */
            action: "look" | "retry" | "start" | "none";
            execution: components["schemas"]["Execution"];
            letter: components["schemas"]["DeadLetter"];
        };
        /** @description When a node that failed is tried again. */
        Retry: {
            /** @enum {string|null} */
            backoff?: "fixed" | "linear" | "exponential" | null;
            delay?: string | number | null;
            /** @description True if left out. */
            enabled?: boolean | null;
            jitter?: boolean | null;
            /** @description All tries, the first included. */
            max_attempts?: number | null;
            max_delay?: string | number | null;
        };
        /** @description How to repeat a failed execution from its failed step. */
        RetryRequest: {
            /** @description Also if it was retried before. */
            again?: boolean | null;
            debug_mode?: boolean | null;
            /** @description The same key gives the same retry. */
            idempotency_key?: string | null;
            max_calls?: number | null;
            /** @description `1h30m`, or seconds. */
            max_duration?: string | number | null;
            max_steps?: number | null;
            /** @description The failed effect is to happen again even where the other side remembers it, or as another request. */
            new_effect_key?: boolean | null;
            variables?: {
                [key: string]: unknown;
            } | null;
            /** @description `latest`, which is the published one, or a number; the same version if left out. */
            version?: unknown;
        };
        /** @description The event `run`: what an execution did. */
        RunEvent: {
            /** @description With `status` and `end`. */
            execution?: components["schemas"]["Execution"] | null;
            /** Format: uuid */
            id: string;
            /**
             * @description `gone`: there is no such execution, or no longer.
             * @enum {string}
             */
            kind: "step" | "status" | "end" | "gone";
            /** @description With `step`. */
            step?: components["schemas"]["Step"] | null;
            /** @description Everything up to this version has been told. */
            version: number;
        };
        /** @description How one execution went. */
        RunOutcome: {
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at: string | null;
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "pending" | "running" | "paused" | "completed" | "failed" | "stopped" | "queued" | "sleeping" | "waiting" | "waiting_debug" | "failed_stuck";
        };
        /** @description The event `runs`: these executions are new or have changed. */
        RunsEvent: {
            ids: string[];
            /** @description Others too, or some may have been missed: read again what is shown. */
            more: boolean;
        };
        /** @description A schema that was just saved. */
        SavedSchema: {
            /** @description May be started. */
            active: boolean;
            /** Format: date-time */
            created_at: string;
            created_by?: string | null;
            definition?: components["schemas"]["Definition"] | null;
            description: string | null;
            /** @description The number under which other programs know it, as the published version says. */
            external_id: number | null;
            /** @description SHA-256 of the definition. */
            hash?: string | null;
            /** Format: uuid */
            id: string;
            language?: number | null;
            /** @description The newest, also if it is a draft. */
            latest_version: number;
            name: string;
            /** @description What its author wrote about this version. */
            note?: string | null;
            /** @description What starts without a version and triggers use. */
            published_version: number;
            /** @description The text as it was sent, with its comments; left out for versions that were saved before texts were kept. */
            source?: string | null;
            /** @enum {string|null} */
            source_format?: "yaml" | "json" | null;
            /** @description Only in a list that was asked for it. */
            summary?: components["schemas"]["SchemaSummary"] | null;
            /** Format: date-time */
            updated_at: string;
            /** @description Of the definition shown; in lists the latest. */
            version: number;
            warnings: components["schemas"]["Diagnostic"][];
        };
        /** @description A scheduled action. The server writes its spec as the kernel does. */
        ScheduledAction: {
            /** Format: date-time */
            finished_at: string | null;
            generation: number;
            /**
             * Format: uuid
             * @description New with every write.
             */
            guid: string;
            id: string;
            /**
             * Format: uuid
             * @description New each time the shard is taken.
             */
            lock_guid?: string | null;
            /** @description Your notes, and what Pawl knows besides. */
            meta: components["schemas"]["ActionMeta"];
            /**
             * Format: date-time
             * @description When a worker took it in.
             */
            moved_at?: string | null;
            /**
             * Format: uuid
             * @description The pass of that worker.
             */
            moved_by_sync?: string | null;
            /** @description Who holds the shard: host/process and version; null: the shard is free. */
            owner?: string | null;
            /** Format: date-time */
            queued_at?: string | null;
            /**
             * Format: date-time
             * @description When a worker last put it to another time.
             */
            rescheduled_at?: string | null;
            /**
             * Format: uuid
             * @description The pass of that worker.
             */
            rescheduled_by_sync?: string | null;
            /**
             * Format: date-time
             * @description When workers look at it next; null: never, as it is.
             */
            scheduled_at: string | null;
            /** @description Whose queue holds it; null while it is in no queue. */
            shard?: number | null;
            spec: components["schemas"]["ActionSpec"];
            status: components["schemas"]["ActionStatus"];
        };
        /** @description One page of a list. */
        ScheduledActionPage: {
            items: components["schemas"]["ScheduledAction"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description A schema of the catalog. The definition and what belongs to it are left out in lists. */
        Schema: {
            /** @description May be started. */
            active: boolean;
            /** Format: date-time */
            created_at: string;
            created_by?: string | null;
            definition?: components["schemas"]["Definition"] | null;
            description: string | null;
            /** @description The number under which other programs know it, as the published version says. */
            external_id: number | null;
            /** @description SHA-256 of the definition. */
            hash?: string | null;
            /** Format: uuid */
            id: string;
            language?: number | null;
            /** @description The newest, also if it is a draft. */
            latest_version: number;
            name: string;
            /** @description What its author wrote about this version. */
            note?: string | null;
            /** @description What starts without a version and triggers use. */
            published_version: number;
            /** @description The text as it was sent, with its comments; left out for versions that were saved before texts were kept. */
            source?: string | null;
            /** @enum {string|null} */
            source_format?: "yaml" | "json" | null;
            /** @description Only in a list that was asked for it. */
            summary?: components["schemas"]["SchemaSummary"] | null;
            /** Format: date-time */
            updated_at: string;
            /** @description Of the definition shown; in lists the latest. */
            version: number;
        };
        /** @description One page of a list. */
        SchemaPage: {
            items: components["schemas"]["Schema"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description What goes on with a schema. */
        SchemaSummary: {
            /** @description The newest 20, newest first. */
            last: components["schemas"]["RunOutcome"][];
            /**
             * Format: date-time
             * @description When its cron triggers fire next.
             */
            next_at: string | null;
            /** @description Executions that have not ended. */
            open: number;
            /** @description There may be more than `open`: only so many of the newest are looked at. */
            open_capped: boolean;
            /** @description Those that are not disabled. */
            triggers: components["schemas"]["TriggerSummary"][];
        };
        /** @description The session that the request's cookie stands for. */
        Session: {
            /** Format: date-time */
            created_at: string;
            created_by: string;
            /**
             * Format: date-time
             * @description However much it is used; also the end of its key.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description If it is not used again.
             */
            idle_until: string;
            /** @description The name of the key that it was opened with. */
            key: string;
            /** @enum {string} */
            role: "viewer" | "operator" | "editor" | "admin";
        };
        /** @description A limit to be set. */
        SetQuota: {
            /** @description How many may be under way at once; 0 admits none. */
            limit: number;
            /** @description At most so many starts in a time, evenly spread: `10/s`, `100/m`, `5000/h`. */
            rate?: string | null;
        };
        /** @description How executions of a schema behave. */
        Settings: {
            concurrency?: components["schemas"]["Concurrency"] | null;
            /** @description Outgoing calls of one execution. */
            max_calls?: number | null;
            /** @description From the start to the end; `365d` if left out. */
            max_duration?: string | number | null;
            /** @description 64 if left out; 1 is strictly one node per message. */
            max_nodes_per_message?: number | null;
            /** @description 10000 if left out. */
            max_steps?: number | null;
            /** @description Of each try; `30s` if left out. */
            node_timeout?: string | number | null;
            /** @enum {string|null} */
            on_stuck?: "requeue" | "fail" | null;
            /** @enum {string|null} */
            priority?: "high" | "normal" | "low" | null;
            /** @description A duration, or `forever`. */
            retention?: string | number | null;
            /** @description A text, which may hold expressions. */
            tenant?: string | null;
        };
        /** @description A layout as it is stored. Its ETag is the revision. */
        ShownLayout: {
            groups: components["schemas"]["CanvasGroup"][];
            notes: components["schemas"]["CanvasNote"][];
            positions: {
                [key: string]: components["schemas"]["Point"];
            };
            /** @description Counts the writes; 0: none was written, and the positions are those of the latest version. */
            revision: number;
            /** Format: date-time */
            updated_at: string | null;
            updated_by: string | null;
        };
        /** @description One side of a pair. */
        ShownStep: {
            duration_ms: number;
            /** @description True if it was taken over; left out otherwise. */
            inherited?: boolean;
            seq: number;
            /** @enum {string} */
            status: "success" | "failed" | "skipped";
        };
        /** @description An event that was sent to an execution. */
        Signal: {
            /** @description The step that took it; null while it waits. */
            consumed_by: number | null;
            id: string;
            name: string;
            payload: unknown;
            /** Format: date-time */
            received_at: string;
        };
        /** @description One page of a list. */
        SignalPage: {
            items: components["schemas"]["Signal"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description Firings that will not happen, from one planned time to another, both included. */
        SkippedFirings: {
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            reason: "catch_up" | "overlap" | "paused";
            /** Format: date-time */
            until: string;
        };
        /** @description What an execution was started with. */
        StartRecord: {
            /** @description Any. */
            input: unknown;
            /** @description As they were at the start. */
            variables: {
                [key: string]: unknown;
            };
            /** @description The request that started it; null if none did. */
            webhook: unknown;
        };
        /** @description What to start, and how. */
        StartRequest: {
            /** @description Stop after every step. */
            debug_mode?: boolean | null;
            /** @description The same key gives the same execution. Not beginning with `wh:`, `amqp:`, `cron:`, `schedule:` or `requeue:`, which are Pawl's own. */
            idempotency_key?: string | null;
            /** @description What expressions see as `input`. It has to fit the `input` of the schema. */
            input?: unknown;
            /** @description Texts to find it by. */
            labels?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string|null} */
            priority?: "high" | "normal" | "low" | null;
            /** @description Name or id; this or `schema_id`. */
            schema?: string | null;
            /** @description A number is looked up in `external_id`. */
            schema_id?: string | number | null;
            /** Format: date-time */
            start_at?: string | null;
            tenant?: string | null;
            /** @description As a test that lists and statistics leave out; `{}` is one that runs like any other. */
            trial?: components["schemas"]["TrialRequest"] | null;
            /** @description Initial variables. */
            variables?: {
                [key: string]: unknown;
            } | null;
            /** @description The published one if left out; a draft may be named. */
            version?: number | null;
        };
        /** @description Executions by the time of their creation. */
        Statistics: {
            /** @description Oldest first, also empty ones. */
            buckets: components["schemas"]["StatisticsBucket"][];
            /** @description Executions that were read. */
            looked_at: number;
            /** @description 1: every execution was counted. Less: in some buckets only this part of the time was read, and their numbers are estimates. */
            sampled: number;
            /** Format: date-time */
            since: string;
            step_ms: number;
            /** Format: date-time */
            until: string;
        };
        /** @description The executions created in one step of time, and what has become of them by now. */
        StatisticsBucket: {
            completed: number;
            /** @description Its numbers are estimates, because it had too many executions to read. */
            estimated: boolean;
            failed: number;
            failed_stuck: number;
            /** Format: date-time */
            from: string;
            open: number;
            /** @description From creation to end, of those that ended: half took no longer. */
            p50_ms: number | null;
            /** @description The same: 95 of 100 took no longer. */
            p95_ms: number | null;
            started: number;
            stopped: number;
        };
        /** @description One finished visit of a node. */
        Step: {
            /** @description Every try, if there was more than one. */
            attempts: components["schemas"]["Try"][] | null;
            /** @description Variables it set. */
            changes: {
                [key: string]: unknown;
            } | null;
            duration_ms: number;
            /** @description How it failed. */
            error: components["schemas"]["Failure"] | null;
            /** Format: date-time */
            finished_at: string;
            /**
             * @description The exit it left by, with or without an edge there; null if it left by none (it ended or failed for good, or is an
             *     edit), and if it is not known (made by an earlier Pawl, with several exits to the same node).
             */
            handle: string | null;
            /** @description True if it was taken over from the execution that this one was retried or forked from; left out otherwise. */
            inherited?: boolean;
            /** @description The config the node ran with. */
            input: unknown;
            next_node_id: string | null;
            node_id: string;
            node_type: string;
            /** @description What it gave. */
            output: unknown;
            prev_node_id: string | null;
            /** @description From 1. */
            seq: number;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            status: "success" | "failed" | "skipped";
        };
        /** @description What expressions saw before and after a step. */
        StepContext: {
            after: {
                [key: string]: unknown;
            };
            before: {
                [key: string]: unknown;
            };
            difference: components["schemas"]["Change"][];
            seq: number;
        };
        /** @description A page of steps, and what of the beginning is not kept any more. */
        StepPage: {
            /** @description Steps at the beginning that were taken over from an execution that is not kept any more; left out if there are none. */
            gone?: components["schemas"]["GoneSteps"] | null;
            items: components["schemas"]["Step"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description The same visit of the same node in both runs. */
        StepPair: {
            difference: components["schemas"]["Change"][];
            /** @description Null if this run did not come there. */
            left: components["schemas"]["ShownStep"] | null;
            node_id: string;
            /** @description Null if this run did not come there. */
            right: components["schemas"]["ShownStep"] | null;
            same: boolean;
            /** @description Which visit of the node, from 1. */
            visit: number;
        };
        /** @description A step of one of the runs. */
        StepPlace: {
            node_id: string;
            seq: number;
        };
        /** @description How an execution is tried. Nodes without a pin run with their effects. */
        TrialRequest: {
            /** @description True: the pinned outputs of the schema stand in for their nodes. */
            pins?: boolean | null;
            /** @description It ends as completed, with the output of this node, once that was left. */
            stop_after?: string | null;
        };
        /** @description What starts a schema: a webhook or a time. The fields of the other kind are left out. */
        Trigger: {
            /** @description Of a webhook: who may call it. */
            auth?: unknown;
            /**
             * @description Of a cron trigger.
             * @enum {string|null}
             */
            catch_up?: "none" | "last" | "all" | null;
            /** @description Of a cron trigger: five fields, six with seconds first, or `@daily`. */
            cron?: string | null;
            disabled?: boolean | null;
            /** @description Of a cron trigger: `input` of what it starts. */
            input?: unknown;
            /** @description Of a webhook: bytes, as a number or as a text like `1MiB`. */
            max_body?: unknown;
            /**
             * @description Of a webhook; POST if left out.
             * @enum {string|null}
             */
            method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" | "ANY" | null;
            name?: string | null;
            /**
             * @description Of a cron trigger.
             * @enum {string|null}
             */
            overlap?: "skip" | "queue" | "allow" | "cancel_previous" | null;
            /** @description Of a webhook, below /webhook/. */
            path?: string | null;
            /** @description Of a webhook: how often, like `10/s`. */
            rate?: unknown;
            /**
             * @description Of a webhook: when its caller is answered.
             * @enum {string|null}
             */
            respond?: "immediately" | "last_node" | "respond_node" | null;
            /** @description Of a cron trigger; UTC if left out. */
            timezone?: string | null;
            /** @enum {string} */
            type: "webhook" | "cron";
            /** @description Of a webhook: how long its caller is kept waiting. */
            wait?: string | number | null;
        };
        /** @description What starts a schema. */
        TriggerSummary: {
            /** @enum {string} */
            kind: "cron" | "webhook";
            name: string;
            /** @description The cron line, or method and path. */
            text: string;
        };
        /** @description One try of a node. */
        Try: {
            /** @description From 1. */
            attempt: number;
            /** @description Null if it went well. */
            error: components["schemas"]["Failure"] | null;
            /** Format: date-time */
            finished_at: string;
            /** Format: date-time */
            started_at: string;
        };
        /** @description What a check of a schema found. */
        Validation: {
            diagnostics: components["schemas"]["Diagnostic"][];
            /** @description Null if the text cannot be read. */
            name: string | null;
            valid: boolean;
        };
        /** @description One line of a schema's history, without its definition. */
        Version: {
            /** Format: date-time */
            created_at: string;
            created_by: string;
            /** @description `?version=` shows the text that was sent. */
            has_source: boolean;
            hash: string;
            language: number;
            /** @description What its author wrote about it. */
            note: string | null;
            /** @description Starts without a version and triggers use this one. */
            published: boolean;
            version: number;
        };
        /** @description One page of a list. */
        VersionPage: {
            items: components["schemas"]["Version"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
        /** @description What an execution waits for. */
        Wait: {
            /** @enum {string} */
            kind: "sleep" | "retry" | "event" | "children" | "start" | "admission";
            /** @description Of the event. */
            name: string | null;
            /** Format: date-time */
            wake_at: string | null;
        };
        /** @description A dead letter with its message, which can be large: only one at a time. */
        WholeDeadLetter: {
            /** Format: date-time */
            created_at: string;
            /**
             * Format: uuid
             * @description Null if the message did not say.
             */
            execution_id: string | null;
            id: number;
            /** @description The message as it came, if it could not be read. */
            message: string | null;
            /** @description Length of the message, if it is kept. */
            message_bytes: number | null;
            reason: string;
            /**
             * Format: uuid
             * @description The execution that goes on in its place.
             */
            requeued_as: string | null;
            /** Format: date-time */
            requeued_at: string | null;
        };
        /** @description A process that works, as it last reported itself. */
        Worker: {
            /** @description Executions it was running when it last reported. */
            busy: number;
            /** @description Some of them. */
            doing: string[];
            /** Format: date-time */
            heartbeat_at: string;
            /** @description Host and process. */
            id: string;
            node_types: string[];
            roles: ("engine" | "timers" | "scheduler" | "reaper")[];
            slots: number;
            /** Format: date-time */
            started_at: string;
            version: string;
        };
        /** @description One page of a list. */
        WorkerPage: {
            items: components["schemas"]["Worker"][];
            /** @description Give it as `cursor` for the next page; null at the end. */
            next: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_connections: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NamedConnectionPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_dead_letters: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description `true`: only those that were not requeued. */
                open?: boolean;
                /** @description Which come first; `oldest` if left out. */
                order?: "oldest" | "newest";
                /** @description A part of the reason. */
                reason?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeadLetterPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_dead_letters_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeDeadLetter"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_dead_letters_id_requeue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requeued"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_dead_letters_bulk: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LetterBulkRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LetterBulkResult"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_dead_letters_count: {
        parameters: {
            query?: {
                /** @description `true`: only those that were not requeued. */
                open?: boolean;
                /** @description A part of the reason. */
                reason?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LetterCount"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": components["schemas"]["Html"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_doctor: {
        parameters: {
            query?: {
                /** @description Refused here; send a POST. */
                fix?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoctorReport"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_doctor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DoctorRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoctorReport"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_env: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownNamePage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_events: {
        parameters: {
            query?: {
                /** @description `true`: steps and executions without payloads. */
                brief?: string;
                /** @description `true`: also log lines of `run:ID` that are written from now on. */
                logs?: string;
                /** @description Any of `executions`, `letters`, `workers`, `schemas`, `run:ID`, `run:ID@VERSION`, with commas between them. */
                topics?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["LiveStream"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions: {
        parameters: {
            query?: {
                /** @description The caller who started it. */
                created_by?: string;
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description The code of the error it ended with. */
                error_code?: string;
                /** @description Ended at or after this time (RFC 3339). */
                finished_since?: string;
                /** @description Forks of this execution. */
                forked_from?: string;
                /** @description Only these, separated by commas; at most 500. */
                ids?: string;
                /** @description A label and its value, `team:payments`. */
                label?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description It took longer than this, or has taken longer by now: `30s`. */
                longer_than?: string;
                /** @description The node it stands at. */
                node?: string;
                /** @description Retries of this execution. */
                retry_of?: string;
                /** @description Name or id of a schema. */
                schema?: string;
                /** @description The same as `schema`. */
                schema_id?: string;
                /** @description Created at or after this time (RFC 3339). */
                since?: string;
                /** @description Status names, separated by commas. */
                status?: string;
                /** @description The tenant. */
                tenant?: string;
                /** @description Found in id, correlation id, idempotency key, creator, labels or error. */
                text?: string;
                /** @description `true`: only trial runs; left out: none of them, unless `ids` names some. */
                trial?: boolean;
                /** @description `true`: only what failed, got stuck or was stopped and has not been retried. */
                unresolved?: boolean;
                /** @description Created before this time (RFC 3339). */
                until?: string;
                /** @description Of the schema. */
                version?: number;
                /** @description `brief`: without outputs, and of errors only code and the beginning of the message. */
                view?: "full" | "brief";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions: {
        parameters: {
            query?: {
                /** @description Wait up to this long for the end, at most 60s: `30s`. */
                wait?: string;
            };
            header?: {
                /** @description The same as `idempotency_key` in the body. */
                "Idempotency-Key"?: string;
                /** @description Passed on to everything the execution calls. */
                "X-Correlation-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id: {
        parameters: {
            query?: {
                /** @description `initial`: with what it was started with. */
                include?: "initial";
                /** @description Wait up to this long for the end, at most 60s: `30s`. */
                wait?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_context: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentContext"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_continue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ContinueRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_debug: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_definition: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionDefinition"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_diff: {
        parameters: {
            query?: {
                /** @description `false`: without the steps that a retry or fork took over. */
                inherited?: boolean;
                /** @description `outline`: without what differs in a pair, for long runs. */
                view?: "full" | "outline";
                /** @description The other execution; for a failed one the last good run if left out. */
                with?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Difference"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_diff_pair: {
        parameters: {
            query?: {
                /** @description `false`: without the steps that a retry or fork took over. */
                inherited?: boolean;
                /** @description The node. */
                node?: string;
                /** @description Which visit of it; the first if left out. */
                visit?: number;
                /** @description The other execution; for a failed one the last good run if left out. */
                with?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepPair"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_events: {
        parameters: {
            query?: {
                /** @description Only what is newer than this version. */
                after?: number;
                /** @description `true`: also log lines that are written from now on. */
                logs?: string;
            };
            header?: {
                /** @description The id of the last event seen. */
                "Last-Event-ID"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["EventStream"];
                };
            };
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_explain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_fork: {
        parameters: {
            query?: {
                /** @description Wait up to this long for the end, at most 60s: `30s`. */
                wait?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForkRequest"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_logs: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description The lowest level shown. */
                level?: "debug" | "info" | "warn" | "error";
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description Only lines of this node. */
                node?: string;
                /** @description `desc`: newest first; a cursor goes on in the same order. */
                order?: "asc" | "desc";
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogLinePage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_notes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewNote"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Note"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_outline: {
        parameters: {
            query?: {
                /** @description Only steps after this one. */
                after?: number;
                /** @description `false`: without the steps that a retry or fork took over. */
                inherited?: boolean;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Outline"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_retry: {
        parameters: {
            query?: {
                /** @description Wait up to this long for the end, at most 60s: `30s`. */
                wait?: string;
            };
            header?: {
                /** @description The same as `idempotency_key` in the body. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_signals: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignalPage"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_signals_name: {
        parameters: {
            query?: {
                /** @description An id makes the signal count once. */
                id?: string;
            };
            header?: {
                /** @description The same as `id`. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Any"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_steps: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description Only from this step on. */
                from?: number;
                /** @description `false`: without the steps that a retry or fork took over. */
                inherited?: boolean;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description Only up to this step. */
                to?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_steps_seq: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                seq: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Step"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_id_steps_seq_context: {
        parameters: {
            query?: {
                /** @description Objects and lists deeper than this are cut. */
                depth?: number;
                /** @description About how large the shown values get; 65,536 if left out. */
                max_bytes?: number;
                /** @description JSON pointer of the part to show. */
                pointer?: string;
                /** @description Only this, cut to size; both contexts whole if none of these parameters is there. */
                view?: "difference" | "before" | "after";
            };
            header?: never;
            path: {
                id: string;
                seq: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextAnswer"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_id_stop: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_executions_bulk: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_counts: {
        parameters: {
            query?: {
                /** @description The caller who started it. */
                created_by?: string;
                /** @description The code of the error it ended with. */
                error_code?: string;
                /** @description Ended at or after this time (RFC 3339). */
                finished_since?: string;
                /** @description Forks of this execution. */
                forked_from?: string;
                /** @description `status` if left out. */
                group?: "status" | "node" | "schema";
                /** @description Only these, separated by commas; at most 500. */
                ids?: string;
                /** @description A label and its value, `team:payments`. */
                label?: string;
                /** @description It took longer than this, or has taken longer by now: `30s`. */
                longer_than?: string;
                /** @description The node it stands at. */
                node?: string;
                /** @description Retries of this execution. */
                retry_of?: string;
                /** @description Name or id of a schema. */
                schema?: string;
                /** @description The same as `schema`. */
                schema_id?: string;
                /** @description Created at or after this time (RFC 3339). */
                since?: string;
                /** @description Status names, separated by commas. */
                status?: string;
                /** @description The tenant. */
                tenant?: string;
                /** @description Found in id, correlation id, idempotency key, creator, labels or error. */
                text?: string;
                /** @description `true`: only trial runs; left out: none of them, unless `ids` names some. */
                trial?: boolean;
                /** @description `true`: only what failed, got stuck or was stopped and has not been retried. */
                unresolved?: boolean;
                /** @description Created before this time (RFC 3339). */
                until?: string;
                /** @description Of the schema. */
                version?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionCounts"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_executions_errors: {
        parameters: {
            query?: {
                /** @description Only this code. */
                error_code?: string;
                /** @description How many groups, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description Name or id of a schema. */
                schema?: string;
                /** @description Created at or after this time (RFC 3339); a day ago if left out. */
                since?: string;
                /** @description Created before this time (RFC 3339). */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorGroups"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_expressions_evaluate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EvaluateRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_expressions_functions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExpressionFunctionPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_format_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Any"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_gc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["GcRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GcReport"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_keys: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_keys_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_node_types: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTypePage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_node_types_type: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeType"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_openapi_json: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Any"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_quotas: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuotaPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_quotas_kind_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                kind: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quota"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    put_quotas_kind_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                kind: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetQuota"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quota"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_quotas_kind_name: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                kind: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_scheduled_actions: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description Due before this time (RFC 3339). */
                due_before?: string;
                /** @description `true`: only those that are over; `false`: only the others. */
                finished?: string;
                /** @description `http_callback`, `start_execution` or `rabbitmq_publish`. */
                kind?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description By `id` if left out; `due`: what is due next comes first, what is paused last. */
                order?: "id" | "due";
                /** @description `true`: only those that are paused; `false`: only the others. */
                paused?: boolean;
                /** @description Ids that begin like this. */
                prefix?: string;
                /** @description Those that start this schema: its name or id. */
                schema?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledActionPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_scheduled_actions_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    put_scheduled_actions_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutAction"];
                "application/yaml": components["schemas"]["PutAction"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_scheduled_actions_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_scheduled_actions_id_attempts: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttemptPage"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_scheduled_actions_id_firings: {
        parameters: {
            query?: {
                /** @description How many, 1 to 1000; 10 if left out. */
                count?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FiringPage"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_scheduled_actions_id_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_scheduled_actions_id_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_scheduled_actions_id_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduledAction"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_scheduled_actions_preview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewAction"];
                "application/yaml": components["schemas"]["PreviewAction"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FiringPage"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string;
                /** @description `summary`: also triggers, open executions, the last 20 outcomes and the next firing. */
                include?: "summary";
                /** @description How many, 1 to 500; 50 if left out. */
                limit?: number;
                /** @description Found in name or description. */
                text?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchemaPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas: {
        parameters: {
            query?: {
                /** @description What has changed, up to 500 characters; shown with the version. */
                note?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Definition"];
                "application/yaml": components["schemas"]["Definition"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedSchema"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas_id: {
        parameters: {
            query?: {
                /** @description Another version than the latest. */
                version?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schema"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    put_schemas_id: {
        parameters: {
            query?: {
                /** @description What has changed, up to 500 characters; shown with the version. */
                note?: string;
                /** @description `false`: save a draft, which starts without a version and triggers do not use. */
                publish?: string;
            };
            header?: {
                /** @description The version last seen, `"3"`; 412 if there is a newer one. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Definition"];
                "application/yaml": components["schemas"]["Definition"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedSchema"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description There is a newer version */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_schemas_id: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas_id_activate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schema"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas_id_deactivate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schema"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas_id_layout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownLayout"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    put_schemas_id_layout: {
        parameters: {
            query?: never;
            header?: {
                /** @description The revision last seen, `"3"`; 412 if there is another one. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Layout"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShownLayout"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description There is a newer version */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas_id_pins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PinPage"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas_id_pins_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pin"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    put_schemas_id_pins_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                node: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutPin"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pin"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_schemas_id_pins_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                node: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas_id_publish: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schema"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas_id_trial_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeTrialRequest"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTrialResult"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_schemas_id_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_schemas_validate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Definition"];
                "application/yaml": components["schemas"]["Definition"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validation"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_secrets: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnownNamePage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not a good key or session */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Not allowed */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many tries */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    delete_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_stats: {
        parameters: {
            query?: {
                /** @description Name or id of a schema. */
                schema?: string;
                /** @description From this time (RFC 3339); an hour ago if left out. */
                since?: string;
                /** @description The length of a bucket, like `5m`; at most 500 of them. Left out: one that makes no more than 120. */
                step?: string;
                /** @description To this time (RFC 3339); now if left out. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Statistics"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerPage"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_health_live: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_health_ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Not available */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": components["schemas"]["Metrics"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    post_webhook_path: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key, path and body get the same answer. */
                "Idempotency-Key"?: string;
                /** @description Passed on to everything the execution calls. */
                "X-Correlation-Id"?: string;
            };
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Any"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Any"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Conflicts with the current state */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The request is not valid */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any error */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
