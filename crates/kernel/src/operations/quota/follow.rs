//! What changes of executions do to their quotas.

use super::{QuotaRows, enter_lanes, holders_of, leave_lanes, lock_ledger, names_of, write_quotas};
use crate::execution::Head;
use crate::ports::store::StoreResult;
use crate::quota::{QuotaChange, QuotaLedger};
use crate::transition::Decision;

/// Part of writing decisions, in the same transaction: an execution that ends gives back what it held, one that is paused
/// or stopped leaves the line, one that is due or resumed takes its place. The executions are locked.
pub async fn follow_decisions(rows: &mut dyn QuotaRows, decisions: &[Decision]) -> StoreResult<()> {
    let moved = decisions.iter().map(|one| (one, one.quota_change()));
    let moved: Vec<(&Decision, QuotaChange)> = moved
        .filter(|(_, movement)| *movement != QuotaChange::None)
        .collect();
    let times = moved.iter().map(|(one, _)| one.change.state.updated_at);
    let Some(now) = times.max() else {
        return Ok(());
    };
    let of = |wanted: QuotaChange| -> Vec<&Head> {
        let wanted = moved.iter().filter(|(_, movement)| *movement == wanted);
        wanted.map(|(one, _)| &one.before.head).collect()
    };
    let (ended, leaving, coming) = (
        of(QuotaChange::Release),
        of(QuotaChange::Leave),
        of(QuotaChange::LineUp),
    );
    let names = names_of(moved.iter().map(|(one, _)| &one.before.head));
    // An execution that lines up may be the first again, and a row that is not there cannot be locked.
    let needed = names_of(coming.iter().copied());
    let mut ledger = lock_ledger(rows, &names, &needed, now).await?;
    release(rows, &ended, &mut ledger).await?;
    leave_lanes(rows, &leaving).await?;
    for head in leaving {
        ledger.leave(&head.quotas);
    }
    for head in &coming {
        ledger.line_up(&head.quotas);
    }
    enter_lanes(rows, &coming, &ledger, now).await?;
    write_quotas(rows, ledger.close(), now).await
}

/// The counters follow the rows: what is not there is not given back twice.
async fn release(
    rows: &mut dyn QuotaRows,
    ended: &[&Head],
    ledger: &mut QuotaLedger,
) -> StoreResult<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let held = holders_of(ended.iter().copied());
    for (name, _) in rows.remove_holders(&held).await? {
        ledger.release(&name);
    }
    Ok(())
}
