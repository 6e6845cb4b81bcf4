//! New executions and their quotas.

use std::collections::{BTreeSet, HashMap};

use super::{QuotaRows, add_holders, enter_lanes, holders_of, lock_ledger, names_of, write_quotas};
use crate::execution::Head;
use crate::id::ExecutionId;
use crate::ports::store::{CreateOutcome, NewExecution, StoreResult};
use crate::quota::{AdmissionPlace, QuotaLedger, QuotaName};
use crate::time::Timestamp;

/// What was decided about executions that are about to be created. The store writes their own rows in between.
pub struct Entrance {
    ledger: QuotaLedger,
    places: HashMap<ExecutionId, AdmissionPlace>,
    now: Timestamp,
}

impl Entrance {
    /// Decides where each of these goes, and makes it what it will be.
    pub async fn decide(
        rows: &mut dyn QuotaRows,
        news: &mut [NewExecution],
        now: Timestamp,
    ) -> StoreResult<Self> {
        let names = names_of(news.iter().map(|new| &new.execution.head));
        let mut ledger = lock_ledger(rows, &names, &needed(news), now).await?;
        let enter = |new: &mut NewExecution| (new.execution.head.id, ledger.enter(new));
        let places = news.iter_mut().map(enter).collect();
        Ok(Self {
            ledger,
            places,
            now,
        })
    }

    /// Those that were not created after all count no more.
    pub fn take_back(&mut self, new: &NewExecution) {
        let Head { id, quotas, .. } = &new.execution.head;
        match self.places.remove(id) {
            Some(AdmissionPlace::Holds) => {
                quotas.iter().for_each(|one| self.ledger.release(&one.name))
            }
            Some(AdmissionPlace::InLine) => self.ledger.leave(quotas),
            Some(AdmissionPlace::Free | AdmissionPlace::Later) | None => {}
        }
    }

    /// `None`: nothing was decided about it, or it was taken back.
    pub fn answer(&self, id: ExecutionId) -> Option<CreateOutcome> {
        self.places.get(&id).map(|place| match place {
            AdmissionPlace::Free | AdmissionPlace::Later => CreateOutcome::New,
            AdmissionPlace::Holds => CreateOutcome::Admitted,
            AdmissionPlace::InLine => CreateOutcome::InLine,
        })
    }

    /// Writes what they hold and where they wait, once their own rows are written.
    pub async fn write(self, rows: &mut dyn QuotaRows, news: &[&NewExecution]) -> StoreResult<()> {
        let of = |wanted: AdmissionPlace| -> Vec<&Head> {
            let heads = news.iter().map(|new| &new.execution.head);
            heads
                .filter(|head| self.places.get(&head.id) == Some(&wanted))
                .collect()
        };
        let (holding, waiting) = (of(AdmissionPlace::Holds), of(AdmissionPlace::InLine));
        add_holders(rows, &holders_of(holding), self.now).await?;
        enter_lanes(rows, &waiting, &self.ledger, self.now).await?;
        write_quotas(rows, self.ledger.close(), self.now).await
    }
}

/// Quotas that hold because a schema asks for them, whether there is a row or not.
fn needed(news: &[NewExecution]) -> BTreeSet<QuotaName> {
    let uses = news.iter().flat_map(|new| &new.execution.head.quotas);
    let asked = uses.filter(|one| one.settings.is_some());
    asked.map(|one| one.name.clone()).collect()
}
