//! The model agrees with itself: the verbs are legal, repeatable, and reach what they are for.

use std::sync::Arc;

use pawl_kernel::execution::{State, Status};
use pawl_testkit::differential::{StoryReport, compare, compare_schedules, compare_with_quotas};
use pawl_testkit::model::ModelStore;

#[tokio::test]
async fn the_model_agrees_with_itself() {
    let mut reached = std::collections::BTreeSet::new();
    let (mut commits, mut fenced, mut letters, mut errors) = (0, 0, 0, 0);
    for seed in 0..200 {
        let (a, b) = (Arc::new(ModelStore::new()), Arc::new(ModelStore::new()));
        compare(seed, 60, a.clone(), b).await;
        let dump = a.dump();
        reached.extend(
            dump.executions
                .iter()
                .map(|execution| execution.head.status),
        );
        commits += a.journal().len();
        fenced += dump.fenced;
        letters += dump.dead_letters.len();
        let failed = |state: &&State| state.position.last_error.is_some();
        errors += dump.states.iter().filter(failed).count();
    }
    // A comparison of nothing proves nothing.
    assert_eq!(reached.len(), Status::ALL.len(), "{reached:?}");
    assert!(commits > 1000, "{commits} commits");
    assert!(fenced > 50, "{fenced} fenced");
    assert!(letters > 10, "{letters} dead letters");
    assert!(errors > 100, "{errors} between two tries");
}

#[tokio::test]
async fn the_model_agrees_with_itself_about_quotas() {
    let (mut admitted, mut in_line, mut ended) = (0, 0, 0);
    for seed in 0..200 {
        let (a, b) = (Arc::new(ModelStore::new()), Arc::new(ModelStore::new()));
        compare_with_quotas(seed, 100, a.clone(), b).await;
        for execution in a.dump().executions {
            let counted = !execution.head.quotas.is_empty();
            let queued_later = execution
                .head
                .queued_at
                .is_some_and(|at| at > execution.head.created_at);
            admitted += usize::from(counted && queued_later);
            in_line += usize::from(counted && execution.head.status == Status::Pending);
            ended += usize::from(counted && execution.head.status.is_terminal());
        }
    }
    assert!(admitted > 150, "{admitted} admitted from the line");
    assert!(in_line > 200, "{in_line} in line at the end");
    assert!(ended > 100, "{ended} ended");
}

#[tokio::test]
async fn the_model_agrees_with_itself_about_scheduled_actions() {
    let mut reached = StoryReport::default();
    for seed in 0..400 {
        let (a, b) = (Arc::new(ModelStore::new()), Arc::new(ModelStore::new()));
        reached += compare_schedules(seed, 120, a, b).await;
    }
    let counts = [
        reached.runs,
        reached.interrupted,
        reached.successes,
        reached.requeued,
        reached.late,
        reached.lock_lost,
        reached.waits,
        reached.finished,
    ];
    assert!(counts.iter().all(|count| *count > 100), "{reached:?}");
}
