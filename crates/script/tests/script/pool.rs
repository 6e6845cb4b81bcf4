//! Children: started when needed, used again, killed, replaced, waited for.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pawl_script::{Data, Options, Part, Pool};
use serde_json::{Value, json};

use super::{bare, job, options, pool};

/// A process that was waited for is gone from the table; a zombie is not.
async fn assert_gone(child: u32) {
    let place = format!("/proc/{child}");
    for _ in 0..500 {
        if !Path::new(&place).exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!(
        "{}",
        std::fs::read_to_string(format!("{place}/status")).unwrap()
    );
}

fn hasty(source: &str) -> pawl_script::Job<'static> {
    let mut job = bare(source);
    job.time = Some(Duration::from_millis(100));
    job
}

#[tokio::test]
async fn a_child_is_used_again() {
    let pool = pool();
    assert!(
        pool.idle_children().is_empty(),
        "started before it is needed"
    );
    pool.run(bare("return 1")).await.unwrap();
    let first = pool.idle_children();
    assert_eq!(first.len(), 1);
    for source in [
        "return 2",
        "throw new Error('x')",
        "let x = ;",
        "function f() { f() } f()",
    ] {
        let _ = pool.run(bare(source)).await;
    }
    assert_eq!(pool.idle_children(), first);
}

#[tokio::test]
async fn a_child_that_does_not_answer_is_killed_and_replaced() {
    let pool = pool();
    pool.run(bare("")).await.unwrap();
    let stuck = pool.idle_children()[0];
    let error = pool.run(hasty("new Array(2e8) + ''")).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_TIMEOUT");
    assert!(pool.idle_children().is_empty());
    pool.run(bare("return 1")).await.unwrap();
    assert_ne!(pool.idle_children()[0], stuck);
    assert_gone(stuck).await;
}

#[tokio::test]
async fn a_run_whose_caller_went_away_frees_its_child() {
    let pool = pool();
    pool.run(bare("")).await.unwrap();
    let child = pool.idle_children()[0];
    let abandoned =
        tokio::time::timeout(Duration::from_millis(50), pool.run(bare("while (true) {}"))).await;
    assert!(abandoned.is_err());
    assert_gone(child).await;
    assert_eq!(pool.run(bare("return 3")).await.unwrap().value, json!(3));
}

#[tokio::test]
async fn a_child_that_died_idle_is_not_used() {
    let pool = pool();
    pool.run(bare("")).await.unwrap();
    let child = pool.idle_children()[0];
    kill(child);
    assert_eq!(pool.run(bare("return 4")).await.unwrap().value, json!(4));
    assert_gone(child).await;
}

/// Tells when the code of a run has begun.
#[derive(Clone, Default)]
struct Begun(Arc<tokio::sync::Notify>);

impl Data for Begun {
    fn part(&self, _: Part<'_>) -> Option<Cow<'_, Value>> {
        self.0.notify_one();
        None
    }
}

#[tokio::test]
async fn a_child_that_dies_at_work_is_an_error_of_that_run_only() {
    let pool = Arc::new(pool());
    pool.run(bare("")).await.unwrap();
    let child = pool.idle_children()[0];
    let begun = Begun::default();
    let running = {
        let (pool, job) = (pool.clone(), job("steps; while (true) {}", begun.clone()));
        tokio::spawn(async move { pool.run(job).await })
    };
    begun.0.notified().await;
    kill(child);
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.code.name(), "CODE_CRASHED", "{error}");
    assert!(error.code.retryable());
    assert_eq!(pool.run(bare("return 5")).await.unwrap().value, json!(5));
}

/// Every idle child would be next.
#[tokio::test]
async fn code_that_ends_its_child_is_not_run_again() {
    let pool = Arc::new(Pool::new(options(2)).unwrap());
    let (one, two) = tokio::join!(pool.run(bare("")), pool.run(bare("")));
    one.unwrap();
    two.unwrap();
    let children = pool.idle_children();
    assert_eq!(children.len(), 2);
    let running = {
        let (pool, mut job) = (pool.clone(), bare("while (true) {}"));
        job.time = Some(Duration::from_secs(3));
        tokio::spawn(async move { pool.run(job).await })
    };
    let busy = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let [idle] = pool.idle_children()[..] {
            break children
                .iter()
                .copied()
                .find(|child| *child != idle)
                .unwrap();
        }
    };
    // Until it has surely read its job; it has sent nothing by then.
    tokio::time::sleep(Duration::from_millis(200)).await;
    kill(busy);
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.code.name(), "CODE_CRASHED", "{error}");
    assert_eq!(pool.idle_children().len(), 1);
}

#[tokio::test]
async fn waiting_too_long_for_a_child_is_not_the_fault_of_the_code() {
    let pool = Arc::new(pool());
    pool.run(bare("")).await.unwrap();
    let busy = |millis| {
        let mut job = bare("while (true) {}");
        job.time = Some(Duration::from_millis(millis));
        let pool = pool.clone();
        tokio::spawn(async move { pool.run(job).await })
    };
    let until = |millis| Some(tokio::time::Instant::now() + Duration::from_millis(millis));
    let first = busy(600);
    tokio::task::yield_now().await;
    let mut late = bare("return 1");
    late.until = until(200);
    let error = pool.run(late).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_BUSY", "{error}");
    assert!(error.code.retryable());
    let mut cut = bare("console.log('began'); while (true) {}");
    cut.until = until(5_000);
    let error = pool.run(cut).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_BUSY", "{error}");
    assert_eq!(error.logs[0].message, "began");
    assert!(first.await.unwrap().is_err());
}

#[tokio::test]
async fn endless_code_of_one_schema_leaves_a_child_to_others() {
    let pool = Arc::new(Pool::new(options(2)).unwrap());
    let hog: Vec<_> = (0..4)
        .map(|_| {
            let mut job = bare("while (true) {}");
            (job.time, job.owner) = (Some(Duration::from_secs(60)), Some("hog".into()));
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(job).await })
        })
        .collect();
    tokio::task::yield_now().await;
    for _ in 0..3 {
        let mut job = bare("return 1");
        job.owner = Some("other".into());
        let answer = tokio::time::timeout(Duration::from_secs(20), pool.run(job)).await;
        assert_eq!(answer.unwrap().unwrap().value, json!(1));
    }
    for run in hog {
        run.abort();
    }
}

#[tokio::test]
async fn children_end_with_their_pool() {
    let pool = Pool::new(options(2)).unwrap();
    let (one, two) = tokio::join!(pool.run(bare("1")), pool.run(bare("2")));
    one.unwrap();
    two.unwrap();
    let children = pool.idle_children();
    assert_eq!(children.len(), 2);
    drop(pool);
    for child in children {
        assert_gone(child).await;
    }
}

#[tokio::test]
async fn a_child_is_replaced_after_its_runs() {
    let mut options = options(1);
    options.runs_per_child = 3;
    let pool = Pool::new(options).unwrap();
    pool.run(bare("return 1")).await.unwrap();
    let first = pool.idle_children();
    let _ = pool.run(bare("throw 1")).await;
    assert_eq!(pool.idle_children(), first);
    pool.run(bare("return 1")).await.unwrap();
    assert!(pool.idle_children().is_empty());
    assert_gone(first[0]).await;
    pool.run(bare("return 1")).await.unwrap();
    assert_ne!(pool.idle_children(), first);
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let mut options = options(1);
    options.queue_max = 1;
    let pool = Arc::new(Pool::new(options).unwrap());
    let mut busy = bare("while (true) {}");
    busy.time = Some(Duration::from_millis(500));
    let running: Vec<_> = (0..2)
        .map(|_| {
            let (pool, busy) = (pool.clone(), busy.clone());
            tokio::spawn(async move { pool.run(busy).await })
        })
        .collect();
    // Both are started by now: one runs, one waits.
    tokio::task::yield_now().await;
    let error = pool.run(bare("return 1")).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_BUSY", "{error}");
    for run in running {
        assert_eq!(run.await.unwrap().unwrap_err().code.name(), "CODE_TIMEOUT");
    }
    assert_eq!(pool.run(bare("return 1")).await.unwrap().value, json!(1));
}

#[tokio::test]
async fn waiting_is_in_order_and_not_part_of_the_time() {
    let pool = Arc::new(pool());
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let runs: Vec<_> = (0..6)
        .map(|index| {
            let (pool, order) = (pool.clone(), order.clone());
            // Together they take longer than any of them may.
            let mut job =
                bare("const end = 3e6; let x = 0; for (let i = 0; i < end; i++) x += i; return x");
            job.time = Some(Duration::from_secs(5));
            tokio::spawn(async move {
                pool.run(job).await.unwrap();
                order.lock().unwrap().push(index);
            })
        })
        .collect();
    for run in runs {
        run.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn children_that_do_not_start_give_errors_and_are_not_tried_again_at_once() {
    let missing = Pool::new(Options::new("/nonexistent/pawl")).unwrap();
    let error = missing.run(bare("return 1")).await.unwrap_err();
    assert_eq!(error.code.name(), "CODE_CRASHED", "{error}");

    // Counts its starts.
    let folder = std::env::temp_dir().join(format!("pawl-script-starts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let count = folder.join("count");
    let mut options = Options::new("/bin/sh");
    let script = format!("echo >> '{}'; exit 1", count.display());
    options.args = vec!["-c".into(), script.into()];
    let broken = Pool::new(options).unwrap();
    for _ in 0..1_000 {
        let error = broken.run(bare("return 1")).await.unwrap_err();
        assert_eq!(error.code.name(), "CODE_CRASHED");
        assert!(error.message.contains("before it was ready"), "{error}");
    }
    let starts = std::fs::read_to_string(&count).unwrap().lines().count();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(starts < 20, "started {starts} times");
}

/// Answers the greeting as a child does, takes the first job, and answers it with `answer`.
async fn with_hostile_child(answer: &str) -> pawl_script::ScriptError {
    let mut options = Options::new("/bin/sh");
    let ready = r"printf '\003\000\000\000R[]\001\000\000\000t'";
    options.args = vec![
        "-c".into(),
        format!("{ready}; {answer}; cat > /dev/null").into(),
    ];
    let pool = Pool::new(options).unwrap();
    let mut job = bare("return 1");
    job.time = Some(Duration::from_secs(2));
    pool.run(job).await.unwrap_err()
}

#[tokio::test]
async fn a_child_that_was_taken_over_cannot_hurt_the_parent() {
    for (answer, expected) in [
        (r"printf '\377\377\377\377d'", "bytes, at most"),
        (r"printf '\000\000\000\000d'", "bytes, at most"),
        (r"printf '\004\000\000\000d{]}'", "no JSON"),
        (r"printf '\003\000\000\000zxx'", "kind 'z'"),
        (r"printf '\003\000\000\000n5 '", "no JSON"),
        (r"head -c 5 > /dev/null; exit 0", "died"),
        (
            r#"yes "$(printf '\041\000\000\000l{"level":"info","message":"x"}   ')" | tr -d '\n'"#,
            "",
        ),
    ] {
        let error = with_hostile_child(answer).await;
        assert_eq!(error.code.name(), "CODE_CRASHED", "{answer}: {error}");
        assert!(error.message.contains(expected), "{answer}: {error}");
        assert!(error.logs.len() <= 1_001);
    }
}

/// A parent that is killed leaves nobody behind: its children end with it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn children_die_with_their_parent() {
    if std::env::var_os("PAWL_SCRIPT_TEST_PARENT").is_some() {
        let pool = pool();
        pool.run(bare("")).await.unwrap();
        println!("child {}", pool.idle_children()[0]);
        // A run that hears nothing of the end of its pipe.
        let mut deaf = bare("while (true) {}");
        deaf.time = Some(Duration::from_secs(60));
        let _ = pool.run(deaf).await;
        return;
    }
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "pool::children_die_with_their_parent",
            "--nocapture",
        ])
        .env("PAWL_SCRIPT_TEST_PARENT", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.stdout.take().unwrap()));
    let child = lines
        .find_map(|line| line.unwrap().split_once("child ")?.1.parse::<u32>().ok())
        .unwrap();
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_gone(child).await;
}

fn kill(child: u32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &child.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn one_hostile_run_among_a_hundred_disturbs_nobody() {
    let pool = Arc::new(Pool::new(options(2)).unwrap());
    let hostile = {
        let pool = pool.clone();
        let mut job = bare("new Array(2e8) + ''");
        job.time = Some(Duration::from_millis(200));
        tokio::spawn(async move { pool.run(job).await })
    };
    let others: Vec<_> = (0..100)
        .map(|index| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(bare(&format!("return {index} * 2"))).await })
        })
        .collect();
    for (index, other) in others.into_iter().enumerate() {
        assert_eq!(other.await.unwrap().unwrap().value, json!(index * 2));
    }
    let error = hostile.await.unwrap().unwrap_err();
    assert_eq!(error.code.name(), "CODE_TIMEOUT");
}
