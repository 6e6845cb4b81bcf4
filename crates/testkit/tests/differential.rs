//! The model agrees with itself: the verbs are legal, repeatable, and reach what they are for.

use std::sync::Arc;

use pawl_kernel::execution::Status;
use pawl_testkit::differential::compare;
use pawl_testkit::model::ModelStore;

#[tokio::test]
async fn the_model_agrees_with_itself() {
    let mut reached = std::collections::BTreeSet::new();
    let (mut commits, mut fenced, mut letters) = (0, 0, 0);
    for seed in 0..200 {
        let (a, b) = (Arc::new(ModelStore::new()), Arc::new(ModelStore::new()));
        compare(seed, 60, a.clone(), b).await;
        let dump = a.dump();
        reached.extend(dump.executions.iter().map(|execution| execution.status));
        commits += a.journal().len();
        fenced += dump.fenced;
        letters += dump.dead_letters.len();
    }
    // A comparison of nothing proves nothing.
    assert_eq!(reached.len(), Status::ALL.len(), "{reached:?}");
    assert!(commits > 1000, "{commits} commits");
    assert!(fenced > 50, "{fenced} fenced");
    assert!(letters > 10, "{letters} dead letters");
}
