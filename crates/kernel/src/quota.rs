//! Quotas: how many executions of a schema, of a concurrency key or of a tenant may be under way at once, and who
//! goes first when not all may. Pure, like [`crate::lifecycle`]: a store loads rows, asks here and writes the answer
//! in the same transaction, so that a limit holds at every instant, however many schedulers there are.
//!
//! An execution names the quotas it counts against when it is created ([`QuotaUse`]). If all of them have room and
//! no other waits, it is admitted at once. Otherwise it is `pending` and stands in a [`Lane`]: one lane per priority,
//! schema and tenant quotas, and concurrency key. When it ends it gives back what it held, in the same transaction.
//!
//! | module | what it decides |
//! |---|---|
//! | [`usage`] | which quotas an execution counts against, and where it stands by its row |
//! | [`row`] | whether one quota has room, by its limit and its rate |
//! | [`ledger`] | entering, standing in line, leaving, giving back |
//! | [`round`] | who of those in line goes next: by class, then by key, then by age |

pub mod ledger;
pub mod name;
pub mod rate;
pub mod round;
pub mod row;
pub mod usage;

pub use ledger::{AdmissionPlace, QuotaLedger};
pub use name::{BadName, QuotaKind, QuotaName};
pub use rate::Rate;
pub use round::{AdmissionRound, Group, Lane, LaneId};
pub use row::{Quota, QuotaSource, Shares};
pub use usage::{AdmissionState, QuotaChange, QuotaUse, admission_state, quota_change};

#[cfg(test)]
mod tests;
