//! A secret reaches the outside and nothing else.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::world::{Crew, World, chain, effect, with};

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
        assert!(execution.error.unwrap().contains("401 for ***"));
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
        assert!(execution.output.unwrap().contains("Bearer ***"));
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
}
