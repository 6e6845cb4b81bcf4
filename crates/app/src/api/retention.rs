//! Removing what is past its retention now, instead of within the hour.

use axum::extract::State;
use pawl_engine::retention::{Collection, Retention, RetentionReport, ScanPlace};
use pawl_kernel::time::format_duration;

use super::ApiState;
use super::body::OptionalJson;
use super::error::{ApiError, ApiResult};
use super::fields;
use super::reply;
use crate::wire::{GcReport, GcRequest, GcSchema};

/// One call does a bounded part of the work; `next` of its answer is `after` of the next.
pub(super) async fn collect(
    State(state): State<ApiState>,
    OptionalJson(body): OptionalJson,
) -> ApiResult {
    let asked: GcRequest = fields::read_optional(body)?;
    // Removing cannot be undone: what is meant must be said.
    if asked.dry_run == Some(None) {
        let message = "`dry_run` must be true or false, not null; leave it out to remove";
        return Err(ApiError::invalid_request(message));
    }
    let dry_run = asked.dry_run.flatten().unwrap_or(false);
    let after = asked.after.map(|text| read_place(&text.0)).transpose()?;
    let mut retention = Retention::from(state.runtime(), after);
    let collected = match dry_run {
        true => retention.preview().await?,
        false => retention.remove_some().await?,
    };
    let mut schemas = Vec::with_capacity(collected.schemas.len());
    for collection in &collected.schemas {
        schemas.push(schema(&state, collection).await?);
    }
    Ok(reply::ok(&report(&collected, dry_run, schemas)))
}

fn report(collected: &RetentionReport, dry_run: bool, schemas: Vec<GcSchema>) -> GcReport {
    let (removed, reclaimed) = (&collected.removed, &collected.reclaimed);
    GcReport {
        dry_run,
        executions: removed.executions,
        history_rows: removed.history,
        signals: removed.signals,
        dead_letters: removed.dead_letters,
        dropped_tables: reclaimed.tables.clone(),
        bytes: reclaimed.bytes,
        schemas,
        more: collected.has_more(),
        next: collected.next.as_ref().map(write_place),
    }
}

/// A deleted schema has no name any more.
async fn schema(state: &ApiState, collection: &Collection) -> ApiResult<GcSchema> {
    let record = state
        .store()
        .schema(&collection.schema_id.to_string())
        .await?;
    Ok(GcSchema {
        schema_id: collection.schema_id.0,
        schema: record.map(|record| record.name),
        retention: format_duration(collection.keep),
        executions: collection.executions,
    })
}

fn write_place(place: &ScanPlace) -> String {
    match place.after {
        Some(after) => format!("{}:{after}", place.schema_id),
        None => place.schema_id.to_string(),
    }
}

fn read_place(text: &str) -> ApiResult<ScanPlace> {
    let (schema_id, after) = match text.split_once(':') {
        Some((schema_id, after)) => (schema_id, Some(after)),
        None => (text, None),
    };
    let place = || {
        Some(ScanPlace {
            schema_id: schema_id.parse().ok()?,
            after: after.map(str::parse).transpose().ok()?,
        })
    };
    place().ok_or_else(|| {
        ApiError::invalid_request("`after` must be `next` of an earlier answer".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        for text in [id.to_owned(), format!("{id}:{id}")] {
            let place = read_place(&text).ok().unwrap();
            assert_eq!(write_place(&place), text);
        }
        for text in [
            "",
            "x",
            ":",
            "x:y",
            &format!("{id}:"),
            &format!("{id}:{id}:{id}"),
        ] {
            assert!(read_place(text).is_err(), "{text}");
        }
    }
}
