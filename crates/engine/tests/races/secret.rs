//! A secret reaches the outside and nothing else.

use std::sync::Arc;

use pawl_engine::control::{ControlError, ForkRequest, StartRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ContinueMode;
use pawl_kernel::secrets::{Patterns, SecretScope};
use serde_json::{Value, json};

use crate::world::{Crew, World, chain, code, effect, event, variables, with};

/// Found nowhere by accident.
const CANARY: &str = "canary-7f3a/51\"be";
const BASE64: &str = "Y2FuYXJ5LTdmM2EvNTEiYmU=";

async fn worker_with_secret(world: &World) -> Crew {
    let secret = |options: &mut pawl_engine::Options| {
        options.secrets.insert("token".into(), CANARY.into());
    };
    world.worker_with(secret).await
}

/// Everything that is stored about an execution, as text.
async fn told(world: &World, id: ExecutionId) -> String {
    let view = world.view(id).await;
    let steps = world.steps(id).await;
    let logs = world.store.logs(id, 0, 100).await.unwrap();
    let history = world.store.history(id, view.state.seq).await.unwrap();
    format!("{view:?} {steps:?} {logs:?} {history:?}")
}

async fn assert_kept(world: &World, id: ExecutionId) {
    let text = told(world, id).await;
    for spelling in [CANARY, "canary-7f3a", BASE64, "51\\\"be"] {
        assert!(!text.contains(spelling), "{spelling} in {text}");
    }
    let Some(folder) = &world.folder else { return };
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for spelling in ["canary-7f3a", BASE64] {
            let found = bytes
                .windows(spelling.len())
                .any(|part| part == spelling.as_bytes());
            assert!(!found, "{spelling} in {}", path.display());
        }
    }
}

/// Uses the secret in every field an effect has.
fn talkative(id: &str, more: Value) -> Value {
    let config = json!({
        "value": {"plain": "{{secrets.token}}", "mixed": "Bearer {{secrets.token}}", "coded": "{{secrets.token | base64_encode}}"},
        "says": "sent {{secrets.token}}",
    });
    effect(id, with(config, more))
}

both! {
    async fn in_input_output_and_logs(world: &World) {
        let crew = worker_with_secret(world).await;
        let flow = chain(&[
            talkative("tell", json!({})),
            json!({"id": "note", "type": "note", "config": {"value": "{{steps.tell.output}}"}}),
            effect("again", json!({"value": "{{variables.note.value.plain}}"})),
        ]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.calls()[0].config["value"]["plain"], CANARY);
        assert_eq!(world.outside.calls()[1].config["value"], "***", "memory and disk must agree");
        assert_kept(world, id).await;
        assert!(told(world, id).await.contains("Bearer ***"));
    }

    async fn in_the_error_that_ends_it(world: &World) {
        let crew = worker_with_secret(world).await;
        let flow = chain(&[talkative("tell", json!({"breaks": "401 for {{secrets.token}}"}))]);
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_kept(world, id).await;
        assert!(execution.record.error.unwrap().contains("401 for ***"));
    }

    async fn in_the_output_that_ends_it(world: &World) {
        let crew = worker_with_secret(world).await;
        let flow = json!({
            "nodes": [{"id": "start", "type": "start"}, talkative("tell", json!({}))],
            "edges": [{"source": "start", "target": "tell"}],
        });
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Completed).await;
        assert_kept(world, id).await;
        assert!(execution.record.output.unwrap().contains("Bearer ***"));
    }

    async fn in_the_tries_between_retries(world: &World) {
        let crew = worker_with_secret(world).await;
        let shaky = with(
            talkative("tell", json!({"fails": 1})),
            json!({"retry": {"max_attempts": 2, "delay": "10s", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.until_status(id, Status::Sleeping).await;
        assert_kept(world, id).await;
        world.advance(10);
        world.until_status(id, Status::Completed).await;
        assert_kept(world, id).await;
    }

    async fn in_everything_that_a_start_brings(world: &World) {
        let crew = worker_with_secret(world).await;
        let schema = world.save(chain(&[])).await.to_string();
        let coded = "%63anary%2d7f3a%2f51%22be";
        let request = StartRequest {
            schema: schema.into(),
            input: Some(json!({"a": [CANARY], (CANARY): 1, "coded": coded})),
            webhook: Some(json!({"headers": {"x-token": CANARY}, "query": {"q": coded}})),
            variables: variables(json!({"v": CANARY})),
            user: Some(json!({"id": "k", "name": CANARY})),
            labels: variables(json!({"l": CANARY})),
            tenant: Some(CANARY.into()),
            correlation_id: Some(CANARY.into()),
            created_by: "test".into(),
            ..StartRequest::default()
        };
        let id = crew.control.start(request).await.unwrap().id;
        let execution = world.until_status(id, Status::Completed).await;
        assert_kept(world, id).await;
        assert!(!told(world, id).await.contains(coded));
        assert_eq!((execution.record.tenant.as_deref(), execution.record.correlation_id.as_str()), (Some("***"), "***"));
    }

    async fn as_a_key_it_is_refused(world: &World) {
        let crew = worker_with_secret(world).await;
        let schema = world.save(chain(&[])).await.to_string();
        let request = StartRequest { schema: schema.into(), idempotency_key: Some(format!("k-{CANARY}")), ..StartRequest::default() };
        let Err(error) = crew.control.start(request).await else { panic!("it was started") };
        assert!(matches!(error, ControlError::Invalid { code: "INVALID_REQUEST", .. }), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }

    async fn in_signals_and_what_the_debugger_changes(world: &World) {
        let crew = worker_with_secret(world).await;
        let id = world.debug(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::WaitingDebug).await;
        let changed = variables(json!({"v": CANARY}));
        crew.control.continue_debug(id, ContinueMode::Run, changed, None).await.unwrap();
        world.until_status(id, Status::Waiting).await;
        let payload = json!({"p": CANARY});
        let signal = |name: &str, key: Option<&str>| {
            crew.control.signal(id, name.to_owned(), &payload, key.map(str::to_owned))
        };
        assert!(signal("go", Some(CANARY)).await.is_err());
        assert!(signal(CANARY, None).await.is_err());
        signal("go", None).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_kept(world, id).await;
        let request = ForkRequest { from_seq: 0, variables: variables(json!({"f": CANARY})), ..ForkRequest::default() };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        world.until_status(forked, Status::Waiting).await;
        assert_kept(world, forked).await;
    }

    async fn with_a_scope_goes_to_its_schemas_alone(world: &World) {
        let only = |names: &[&str]| SecretScope {
            schemas: Some(Patterns::new(names.iter().map(|name| (*name).to_owned()))),
            ..SecretScope::default()
        };
        let hosts = SecretScope { hosts: Some(Patterns::new(["example.com".to_owned()])), ..SecretScope::default() };
        let hook = SecretScope { webhook: true, ..SecretScope::default() };
        let crew = world.worker_with(|options| {
            for (name, scope) in [("mine", only(&["flow-*"])), ("theirs", only(&["payroll"])), ("bound", hosts), ("hook", hook)] {
                options.secrets.insert(name.into(), format!("{name}-{CANARY}"));
                options.secret_scopes.insert(name.into(), Arc::new(scope));
            }
            options.secrets.insert("free".into(), format!("free-{CANARY}"));
        }).await;
        let run = async |text: &str| {
            let flow = chain(&[effect("tell", json!({"value": text}))]);
            let id = world.start(&crew.control, flow).await;
            let ended = world.until(id, |view| view.execution.head.status.is_terminal()).await;
            assert_kept(world, id).await;
            match ended.execution.head.status {
                Status::Completed => "sent".to_owned(),
                _ => code(&ended.execution.record.error),
            }
        };
        for (text, expected) in [
            ("{{secrets.free}}", "sent"),
            ("{{secrets.mine}}", "sent"),
            ("{{upper(secrets.theirs)}}", "SECRET_NOT_ALLOWED"),
            ("{{secrets['theirs']}}", "SECRET_NOT_ALLOWED"),
            ("{{secrets['the' + 'irs']}}", "UNDEFINED_PATH"),
            ("{{secrets.hook}}", "SECRET_NOT_ALLOWED"),
            // This node asks nothing before it sends.
            ("{{secrets.bound}}", "SECRET_NOT_ALLOWED"),
        ] {
            assert_eq!(run(text).await, expected, "{text}");
        }
        assert_eq!(world.outside.calls().len(), 2);
    }
}
