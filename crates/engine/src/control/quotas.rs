//! What operators ask of quotas, and which quotas a new execution counts against.

use pawl_kernel::context::{Context, CorruptContext, Facts};
use pawl_kernel::expr::Scope;
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::ports::store::NewExecution;
use pawl_kernel::quota::{Quota, QuotaKind, QuotaName, QuotaSource, QuotaUse};
use pawl_kernel::schema::graph::{Graph, RenderError};
use serde_json::Value;

use super::{Control, ControlError};

/// Quotas read at once.
const PAGE: u32 = 500;

impl Control {
    /// Sets a quota. When this returns, every open execution that it concerns counts against it, also those that were
    /// there before; what is over the limit runs on, and none is admitted until there is room. If it fails the quota
    /// may be set and not count all of them yet: setting it again finishes that.
    pub async fn set_quota(&self, set: SetQuota) -> Result<Quota, ControlError> {
        let (name, store) = (set.name.clone(), &self.runtime.store);
        let mut quota = store.set_quota(set, self.runtime.now()).await?;
        // First of all: an execution that comes from now on counts by itself, whatever becomes of the others.
        self.read_limits().await?;
        let counted = self.count_rest(&name).await;
        self.runtime.admission_changed();
        if counted? > 0 {
            quota = store.quota(name).await?.unwrap_or(quota);
        }
        Ok(quota)
    }

    /// `false`: no operator had set it.
    pub async fn remove_quota(&self, name: QuotaName) -> Result<bool, ControlError> {
        let removed = self
            .runtime
            .store
            .remove_quota(name, self.runtime.now())
            .await?;
        self.read_limits().await?;
        self.runtime.admission_changed();
        Ok(removed)
    }

    /// Makes the quotas what the configuration says: those that it lists are set, those that an earlier one listed are
    /// removed, those set over the API stay as they are.
    pub async fn configure_quotas(&self, wanted: Vec<SetQuota>) -> Result<(), ControlError> {
        let mut after = None;
        let mut known: Vec<Quota> = Vec::new();
        loop {
            let page = self.runtime.store.quotas(true, after, PAGE).await?;
            after = page.last().map(|quota| quota.name.clone());
            known.extend(page);
            if !known.len().is_multiple_of(PAGE as usize) || after.is_none() {
                break;
            }
        }
        for quota in &known {
            let listed = wanted.iter().any(|set| set.name == quota.name);
            if quota.source == Some(QuotaSource::Config) && !listed {
                self.remove_quota(quota.name.clone()).await?;
            }
        }
        let is_so = |set: &SetQuota| {
            known.iter().any(|quota| {
                let same = (quota.source, quota.limit) == (Some(set.source), Some(set.limit));
                same && quota.name == set.name && quota.rate == set.rate
            })
        };
        for set in wanted {
            if !is_so(&set) {
                self.set_quota(set).await?;
            } else if self.count_rest(&set.name).await? > 0 {
                // The process that set it did not get to the end of it.
                self.runtime.admission_changed();
            }
        }
        Ok(())
    }

    async fn read_limits(&self) -> Result<(), ControlError> {
        if self.runtime.options.exclusive {
            self.runtime
                .admission
                .read_limits(&*self.runtime.store)
                .await?;
        }
        Ok(())
    }

    /// Open executions from before the quota count too. Costs one look if all of them do already.
    async fn count_rest(&self, name: &QuotaName) -> Result<u64, ControlError> {
        let counted = self
            .runtime
            .store
            .count_rest(name.clone(), self.runtime.now());
        Ok(counted.await?)
    }

    /// The tenant and the concurrency key are read once, from the start record.
    pub(super) fn resolve_quotas(
        &self,
        new: &mut NewExecution,
        graph: &Graph,
    ) -> Result<(), ControlError> {
        let rendered = match graph.has_admission_texts() {
            true => self.render_admission(new, graph)?,
            false => QuotaTexts::default(),
        };
        let execution = &mut new.execution;
        if execution.record.tenant.is_none() {
            execution.record.tenant = rendered.tenant;
        }
        let definition = graph.definition();
        let limit = definition.settings.concurrency_limit();
        let schema = QuotaName::new(QuotaKind::Schema, &definition.name).map_err(bad_name)?;
        let version = execution.head.schema_version;
        let claims = &mut execution.head.quotas;
        match (limit, rendered.key) {
            (Some(limit), Some(key)) => {
                let key = QuotaName::of_key(&definition.name, &key).map_err(bad_name)?;
                claims.push(QuotaUse::with_limit(key, limit, version));
                claims.push(QuotaUse::if_set(schema));
            }
            (Some(limit), None) => claims.push(QuotaUse::with_limit(schema, limit, version)),
            (None, _) => claims.push(QuotaUse::if_set(schema)),
        }
        // A label that cannot be a quota's name is a label that no operator can set a quota for.
        let tenant = execution.record.tenant.as_deref();
        let tenant = tenant.and_then(|tenant| QuotaName::new(QuotaKind::Tenant, tenant).ok());
        claims.extend(tenant.map(QuotaUse::if_set));
        if self.runtime.options.exclusive && !self.runtime.admission.may_limit(claims) {
            claims.clear();
        }
        Ok(())
    }

    fn render_admission(
        &self,
        new: &NewExecution,
        graph: &Graph,
    ) -> Result<QuotaTexts, ControlError> {
        let facts = Facts {
            schema_name: graph.definition().name.clone(),
        };
        let damaged = |error: CorruptContext| refused("settings", &error.to_string());
        let mut context =
            Context::start(&new.execution, &facts, &self.runtime.options.env).map_err(damaged)?;
        // The input of a retry or fork may have been changed since the start; all else is as it was then.
        if let Some(snapshot) = &new.snapshot {
            let mut later = context.clone();
            later.restore(&snapshot.context).map_err(damaged)?;
            if let Some(input) = later.roots_mut().shift_remove("input") {
                context.roots_mut().insert("input".into(), input);
            }
        }
        if let Some(edit) = &new.edit {
            context.apply_step(edit).map_err(damaged)?;
        }
        let id = new.execution.head.id.to_string();
        let now = new.state.updated_at.as_micros();
        let scope = Scope::new(context.roots(), now, &id, 0);
        let text = |what, rendered: Option<Result<Value, RenderError>>| match rendered {
            None => Ok(None),
            Some(Ok(value)) => as_text(what, value),
            Some(Err(failure)) => Err(refused(what, &failure.error.message)),
        };
        let (tenant, key) = self.runtime.evaluations.evaluate(|meter| {
            let tenant = graph.render_tenant(&scope, meter);
            (tenant, graph.render_concurrency_key(&scope, meter))
        });
        let key_setting = "settings.concurrency.key";
        let key = match (key.is_some(), text(key_setting, key)?) {
            (true, None) => return Err(refused(key_setting, "it is null or empty")),
            (_, key) => key,
        };
        Ok(QuotaTexts {
            tenant: text("settings.tenant", tenant)?,
            key,
        })
    }
}

#[derive(Default)]
struct QuotaTexts {
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
