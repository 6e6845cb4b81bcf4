//! The same story under quotas: few names and small limits, so that there is a line most of the time.

use std::sync::Arc;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::ports::store::{NewExecution, Store};
use pawl_kernel::quota::{QuotaName, QuotaSource, QuotaUse};

use super::{Story, told};
use crate::fixture;

const NAMES: &[&str] = &[
    "schema:flow-1",
    "tenant:a",
    "tenant:b",
    "key:flow-1/x",
    "key:flow-1/y",
];

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

impl Story {
    pub(super) async fn quota_verb(&mut self) {
        match self.rng.below(100) {
            0..50 => self.admit().await,
            50..75 => self.set_quota().await,
            75..82 => self.remove_quota().await,
            82..92 => self.count_in().await,
            _ => self.check_quotas().await,
        }
        self.compare_quotas().await;
    }

    /// What the settings of its schema and its tenant could come to.
    pub(super) fn claims(&mut self, new: &mut NewExecution) {
        new.execution.head.priority = *self.rng.pick(PriorityClass::ALL);
        let claims = &mut new.execution.head.quotas;
        if self.rng.chance(700) {
            claims.push(QuotaUse::if_set(name("schema:flow-1")));
        }
        if self.rng.chance(500) {
            let tenant = *self.rng.pick(&["tenant:a", "tenant:b"]);
            claims.push(QuotaUse::if_set(name(tenant)));
        }
        if self.rng.chance(500) {
            let key = *self.rng.pick(&["key:flow-1/x", "key:flow-1/y"]);
            let limit = 1 + self.rng.below(2) as u32;
            let version = 1 + self.rng.below(3) as u32;
            claims.push(QuotaUse::with_limit(name(key), limit, version));
        }
    }

    fn some_name(&mut self) -> &'static str {
        self.rng.pick::<&str>(NAMES)
    }

    async fn admit(&mut self) {
        let (now, max) = (self.now, 1 + self.rng.below(4) as u32);
        self.note("admit", &max);
        self.same(async |store| told(store.admit(now, max).await))
            .await;
    }

    async fn set_quota(&mut self) {
        let rate = *self.rng.pick(&["1/s", "3/s", "30/m"]);
        let set = SetQuota {
            name: name(self.some_name()),
            limit: self.rng.below(4) as u32,
            rate: self.rng.chance(250).then(|| rate.parse().unwrap()),
            source: *self.rng.pick(&[QuotaSource::Api, QuotaSource::Config]),
        };
        let now = self.now;
        self.note("set_quota", &set);
        self.same(async |store| told(store.set_quota(set.clone(), now).await))
            .await;
    }

    async fn remove_quota(&mut self) {
        let (quota, now) = (name(self.some_name()), self.now);
        self.note("remove_quota", &quota);
        self.same(async |store| told(store.remove_quota(quota.clone(), now).await))
            .await;
    }

    async fn count_in(&mut self) {
        let (quota, now) = (name(self.some_name()), self.now);
        if self.rng.chance(500) {
            self.note("count_rest", &quota);
            self.same(async |store| told(store.count_rest(quota.clone(), now).await))
                .await;
            return;
        }
        let ids = vec![self.any_id(), self.any_id()];
        self.note("count_in", &(&quota, &ids));
        self.same(async |store| told(store.count_in(quota.clone(), ids.clone(), now).await))
            .await;
    }

    /// However it went so far, everything is counted right.
    async fn check_quotas(&mut self) {
        let now = self.now;
        let ids: Vec<ExecutionId> = (1..=self.created).map(fixture::execution_id).collect();
        self.note("check_quotas", &());
        let wrong = self
            .both(async |store| told(store.check_counted(ids.clone(), false, now).await))
            .await;
        assert_eq!(wrong, Ok(vec![]), "seed {}", self.seed);
        let wrong = self
            .both(async |store| told(store.recount(false, now).await))
            .await;
        assert_eq!(wrong, Ok(vec![]), "seed {}", self.seed);
    }

    async fn compare_quotas(&self) {
        for set_only in [false, true] {
            self.same(async |store| told(store.quotas(set_only, None, 100).await))
                .await;
        }
        for quota in NAMES {
            self.same(async |store| told(store.holders(name(quota), 100).await))
                .await;
        }
        for n in 1..=self.created {
            self.same(async |store| place(store, fixture::execution_id(n)).await)
                .await;
        }
    }
}

async fn place(store: Arc<dyn Store>, id: ExecutionId) -> String {
    format!("{:?}", store.admission_position(id).await.unwrap())
}
