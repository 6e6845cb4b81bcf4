//! What changes of executions do to their quotas.

use super::{QuotaRows, enter_lanes, holders_of, leave_lanes, lock_book, names_of, write_quotas};
use crate::execution::Head;
use crate::ports::store::StoreResult;
use crate::quota::{Book, Movement};
use crate::transition::Decision;

/// Part of writing decisions, in the same transaction: an execution that ends gives back what it held, one that is paused
/// or stopped leaves the line, one that is due or resumed takes its place. The executions are locked.
pub async fn follow_decisions(rows: &mut dyn QuotaRows, decisions: &[Decision]) -> StoreResult<()> {
    let moved = decisions.iter().map(|one| (one, one.movement()));
    let moved: Vec<(&Decision, Movement)> = moved
        .filter(|(_, movement)| *movement != Movement::None)
        .collect();
    let times = moved.iter().map(|(one, _)| one.change.state.updated_at);
    let Some(now) = times.max() else {
        return Ok(());
    };
    let of = |wanted: Movement| -> Vec<&Head> {
        let wanted = moved.iter().filter(|(_, movement)| *movement == wanted);
        wanted.map(|(one, _)| &one.before.head).collect()
    };
    let (ended, leaving, coming) = (
        of(Movement::Release),
        of(Movement::Leave),
        of(Movement::LineUp),
    );
    let names = names_of(moved.iter().map(|(one, _)| &one.before.head));
    // An execution that lines up may be the first again, and a row that is not there cannot be locked.
    let needed = names_of(coming.iter().copied());
    let mut book = lock_book(rows, &names, &needed, now).await?;
    release(rows, &ended, &mut book).await?;
    leave_lanes(rows, &leaving).await?;
    for head in leaving {
        book.leave(&head.quotas);
    }
    for head in &coming {
        book.line_up(&head.quotas);
    }
    enter_lanes(rows, &coming, &book, now).await?;
    write_quotas(rows, book.close(), now).await
}

/// The counters follow the rows: what is not there is not given back twice.
async fn release(rows: &mut dyn QuotaRows, ended: &[&Head], book: &mut Book) -> StoreResult<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let held = holders_of(ended.iter().copied());
    for (name, _) in rows.remove_holders(&held).await? {
        book.release(&name);
    }
    Ok(())
}
