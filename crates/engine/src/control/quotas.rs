//! What operators ask of quotas, and which quotas a new execution counts against.

use pawl_kernel::context::{Context, Facts};
use pawl_kernel::execution::Status;
use pawl_kernel::expr::{Limits as MeterLimits, Meter, Scope};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::ports::store::{ExecutionFilter, NewExecution};
use pawl_kernel::quota::{Quota, QuotaClaim, QuotaKind, QuotaName, Source};
use pawl_kernel::schema::graph::{Graph, RenderError};
use serde_json::Value;

use super::{Control, ControlError};

/// Executions counted in one transaction.
const PAGE: u32 = 500;

impl Control {
    /// Sets a quota. When this returns, every open execution that it concerns counts against it, also those that were
    /// there before; what is over the limit runs on, and nobody is admitted until there is room.
    pub async fn set_quota(&self, set: SetQuota) -> Result<Quota, ControlError> {
        let name = set.name.clone();
        let store = &self.parts.store;
        let before = store.quota(name.clone()).await?;
        let mut quota = store.set_quota(set, self.parts.now()).await?;
        if before.is_none_or(|quota| quota.source.is_none()) && self.count_in(&name).await? > 0 {
            quota = store.quota(name).await?.unwrap_or(quota);
        }
        self.limits_changed().await?;
        Ok(quota)
    }

    /// `false`: no operator had set it.
    pub async fn remove_quota(&self, name: QuotaName) -> Result<bool, ControlError> {
        let removed = self
            .parts
            .store
            .remove_quota(name, self.parts.now())
            .await?;
        self.limits_changed().await?;
        Ok(removed)
    }

    /// Makes the quotas what the configuration says: those that it lists are set, those that an earlier one listed are
    /// removed, those set over the API stay as they are.
    pub async fn configure_quotas(&self, wanted: Vec<SetQuota>) -> Result<(), ControlError> {
        let mut after = None;
        let mut known: Vec<Quota> = Vec::new();
        loop {
            let page = self.parts.store.quotas(true, after, PAGE).await?;
            after = page.last().map(|quota| quota.name.clone());
            known.extend(page);
            if !known.len().is_multiple_of(PAGE as usize) || after.is_none() {
                break;
            }
        }
        for quota in &known {
            let listed = wanted.iter().any(|set| set.name == quota.name);
            if quota.source == Some(Source::Config) && !listed {
                self.remove_quota(quota.name.clone()).await?;
            }
        }
        let is_so = |set: &SetQuota| {
            known.iter().any(|quota| {
                let same = (quota.source, quota.limit) == (Some(set.source), Some(set.limit));
                same && quota.name == set.name && quota.rate == set.rate
            })
        };
        for set in wanted.into_iter().filter(|set| !is_so(set)) {
            self.set_quota(set).await?;
        }
        Ok(())
    }

    async fn limits_changed(&self) -> Result<(), ControlError> {
        if self.parts.options.exclusive {
            self.parts.lines.read_limits(&*self.parts.store).await?;
        }
        self.parts.line_changed();
        Ok(())
    }

    /// Open executions from before the quota count too.
    async fn count_in(&self, name: &QuotaName) -> Result<u64, ControlError> {
        let Some(filter) = self.concerned(name).await? else {
            return Ok(0);
        };
        let store = &self.parts.store;
        let (mut counted, mut before) = (0, None);
        loop {
            let page = store.executions(filter.clone(), before, PAGE).await?;
            let ids: Vec<ExecutionId> = page.iter().map(|view| view.execution.id).collect();
            let Some(last) = ids.last() else {
                return Ok(counted);
            };
            before = Some(*last);
            counted += store.count_in(name.clone(), ids, self.parts.now()).await?;
        }
    }

    /// `None`: there is nobody whom it could concern. (Whoever has a key has counted against it from the start.)
    async fn concerned(&self, name: &QuotaName) -> Result<Option<ExecutionFilter>, ControlError> {
        let open = Status::ALL.iter().filter(|status| !status.is_terminal());
        let filter = ExecutionFilter {
            statuses: open.copied().collect(),
            ..ExecutionFilter::default()
        };
        Ok(match name.kind() {
            QuotaKind::Key => None,
            QuotaKind::Tenant => Some(ExecutionFilter {
                tenant: Some(name.name().to_owned()),
                ..filter
            }),
            QuotaKind::Schema => {
                let schema = self.parts.store.schema(name.name()).await?;
                schema.map(|schema| ExecutionFilter {
                    schema_id: Some(schema.id),
                    ..filter
                })
            }
        })
    }

    /// The tenant and the concurrency key are read once, from the start record.
    pub(super) fn make_claims(
        &self,
        new: &mut NewExecution,
        graph: &Graph,
    ) -> Result<(), ControlError> {
        let rendered = match graph.has_admission_texts() {
            true => self.render_admission(new, graph)?,
            false => Rendered::default(),
        };
        let execution = &mut new.execution;
        if execution.tenant.is_none() {
            execution.tenant = rendered.tenant;
        }
        let definition = graph.definition();
        let limit = definition.settings.concurrency_limit();
        let schema = QuotaName::new(QuotaKind::Schema, &definition.name).map_err(bad_name)?;
        let version = execution.schema_version;
        let claims = &mut execution.quotas;
        match (limit, rendered.key) {
            (Some(limit), Some(key)) => {
                let key = QuotaName::of_key(&definition.name, &key).map_err(bad_name)?;
                claims.push(QuotaClaim::with_limit(key, limit, version));
                claims.push(QuotaClaim::if_set(schema));
            }
            (Some(limit), None) => claims.push(QuotaClaim::with_limit(schema, limit, version)),
            (None, _) => claims.push(QuotaClaim::if_set(schema)),
        }
        // A label that cannot be a quota's name is a label that nobody can set a quota for.
        let tenant = execution.tenant.as_deref();
        let tenant = tenant.and_then(|tenant| QuotaName::new(QuotaKind::Tenant, tenant).ok());
        claims.extend(tenant.map(QuotaClaim::if_set));
        if self.parts.options.exclusive && !self.parts.lines.may_limit(claims) {
            claims.clear();
        }
        Ok(())
    }

    fn render_admission(
        &self,
        new: &NewExecution,
        graph: &Graph,
    ) -> Result<Rendered, ControlError> {
        let facts = Facts {
            schema_name: graph.definition().name.clone(),
        };
        let context = Context::start(&new.execution, &facts, &self.parts.options.env)
            .map_err(|error| refused("settings", &error.to_string()))?;
        let id = new.execution.id.to_string();
        let now = new.state.updated_at.as_micros();
        let scope = Scope::new(context.roots(), now, &id, 0);
        let text = |what, rendered: Option<Result<Value, RenderError>>| match rendered {
            None => Ok(None),
            Some(Ok(value)) => as_text(what, value),
            Some(Err(failure)) => Err(refused(what, &failure.error.message)),
        };
        let mut meter = Meter::new(MeterLimits::default());
        let tenant = graph.render_tenant(&scope, &mut meter);
        let key = graph.render_concurrency_key(&scope, &mut meter);
        let key_setting = "settings.concurrency.key";
        let key = match (key.is_some(), text(key_setting, key)?) {
            (true, None) => return Err(refused(key_setting, "it is null or empty")),
            (_, key) => key,
        };
        Ok(Rendered {
            tenant: text("settings.tenant", tenant)?,
            key,
        })
    }
}

#[derive(Default)]
struct Rendered {
    tenant: Option<String>,
    key: Option<String>,
}

/// Nothing for null and the empty text.
fn as_text(what: &str, value: Value) -> Result<Option<String>, ControlError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        Value::Array(_) | Value::Object(_) => {
            Err(refused(what, "it is a list or an object, not a text"))
        }
    }
}

fn refused(what: &str, problem: &str) -> ControlError {
    ControlError::Invalid {
        code: "EXPRESSION_ERROR",
        message: format!("{what}: {problem}"),
    }
}

fn bad_name(error: pawl_kernel::quota::BadName) -> ControlError {
    refused("settings.concurrency.key", &error.to_string())
}
