//! Only what code touches travels to the child.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use pawl_script::{Data, Part};
use serde_json::{Value, json};

use super::{assert_value, document, job, options, pool};

/// Remembers what was asked for.
struct Watched {
    inner: super::Document<'static>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Data for Watched {
    fn part(&self, part: Part<'_>) -> Option<Cow<'_, Value>> {
        self.asked.lock().unwrap().push(format!("{part:?}"));
        self.inner.part(part)
    }
}

fn large() -> super::Document<'static> {
    let mut data = document();
    let row = json!({"id": 1, "text": "x".repeat(100)});
    let rows = vec![row; 40_000];
    data.context.to_mut()["steps"]["big"] =
        json!({"output": {"rows": rows, "count": 40_000}, "status": "success"});
    data
}

#[tokio::test]
async fn data_that_are_not_touched_are_not_sent() {
    let asked = Arc::default();
    let data = Watched {
        inner: large(),
        asked: Arc::clone(&asked),
    };
    assert_value(pool().run(job("return 1", data)).await, json!(1));
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn each_part_is_asked_for_when_it_is_touched() {
    let asked = Arc::default();
    let data = Watched {
        inner: large(),
        asked: Arc::clone(&asked),
    };
    let source = "return [user.id, user.email, $json.total, $json.list]";
    assert_value(
        pool().run(job(source, data)).await,
        json!([2, "user@example.com", 5, [1, 2]]),
    );
    let mut asked = asked.lock().unwrap().clone();
    asked.sort();
    asked.dedup();
    assert_eq!(asked, [r#"Context("user")"#, "Input"]);
}

#[tokio::test]
async fn a_large_object_is_loaded_a_level_at_a_time() {
    // Less memory than the whole of it would need.
    let mut options = options(1);
    options.limits.memory_bytes = 3 << 20;
    let pool = pawl_script::Pool::new(options).unwrap();
    let source = "return [Object.keys(steps), steps.big.status, steps.big.output.count, steps.load_1.output.total]";
    assert_value(
        pool.run(job(source, large())).await,
        json!([["first", "load_1", "big"], "success", 40_000, 5]),
    );
    let error = pool
        .run(job("return steps.big.output.rows.length", large()))
        .await
        .unwrap_err();
    assert_eq!(error.code.name(), "CODE_MEMORY", "{error}");
}

/// As in the product, where large answers are made beside other work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_data_travel_from_a_runtime_of_many_threads() {
    let mut options = options(1);
    options.limits.memory_bytes = 256 << 20;
    let pool = pawl_script::Pool::new(options).unwrap();
    let run = tokio::spawn(async move {
        let source = "return [steps.big.output.rows.length, $('big').item.json.rows[39999].id]";
        pool.run(job(source, large())).await
    });
    assert_value(run.await.unwrap(), json!([40_000, 1]));
}

#[tokio::test]
async fn large_data_behave_like_any_other_object() {
    let source = "
        const big = steps.big.output;
        const own = $('big').item.json;
        own.count = 7; own.more = 8;
        return [big.rows.length, big === steps.big.output, JSON.stringify(big).length > 4e6, Object.entries(big).length,
            {...big}.count, 'rows' in big, big.hasOwnProperty('rows'), Object.isFrozen(big), Object.isFrozen(big.rows[0]),
            own.count, own.more, own.rows[39999].id, delete own.rows, Object.keys(own)]";
    let mut options = options(1);
    options.limits.memory_bytes = 256 << 20;
    let pool = pawl_script::Pool::new(options).unwrap();
    assert_value(
        pool.run(job(source, large())).await,
        json!([
            40_000,
            true,
            true,
            2,
            40_000,
            true,
            true,
            true,
            true,
            7,
            8,
            1,
            true,
            ["count", "more"]
        ]),
    );
}
