//! The catalog: schemas and their versions.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pawl_engine::control::{ControlError, drop_triggers, keep_triggers_in_step};
use pawl_kernel::diagnostic::{Diagnostic, Place};
use pawl_kernel::id::{SchemaId, time_ordered};
use pawl_kernel::json::{self, JsonError};
use pawl_kernel::ports::store::{
    PublishVersion, SaveMode, SaveSchema, SchemaRecord, SourceFormat, SourceText, VersionRecord,
};
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::schema::{LoadedSchema, content_hash, load, to_stored_json};
use pawl_kernel::webhook::{NamedTrigger, fill_paths, of_definition};
use serde_json::Value;

use super::ApiState;
use super::body::{JsonBody, SchemaText};
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields::unknown_name;
use super::guard::Identity;
use super::path::PathParts;
use super::query::Query;
use super::summaries;
use super::{fields, reply};
use crate::wire::{DiagnosticLine, Page, PublishRequest, SavedSchema, Schema, Validation, Version};

/// What a list can carry besides the rows.
pub(super) const INCLUDED: [&str; 1] = ["summary"];

/// For a caller who names a schema by a number where a name or an id is taken.
pub(super) const NUMBER_HINT: &str = "a number is an `external_id`, which is taken by `schema_id` of a start only (POST /api/executions, or a message); \
     give the name or the id of the schema as a text";

pub(super) async fn create(
    State(state): State<ApiState>,
    identity: Identity,
    query: Query,
    text: SchemaText,
) -> ApiResult {
    let note = version_note(&query)?;
    let mut checked = check(&state, text).await?;
    give_paths(&state, &mut checked.definition, None).await?;
    let save = save_request(&state, &checked, note, identity, SaveMode::Create);
    let record = state.store().save_schema(save).await?;
    follow(&state, &record).await;
    let mut response = saved(&state, StatusCode::CREATED, &record, &checked.warnings).await?;
    if let Ok(place) = HeaderValue::from_str(&format!("/api/schemas/{}", record.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

pub(super) async fn update(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    query: Query,
    headers: HeaderMap,
    text: SchemaText,
) -> ApiResult {
    let if_version = if_match(&headers)?;
    let note = version_note(&query)?;
    let publish = query.flag_or("publish", true)?;
    let record = find(&state, path.get("id")).await?;
    let mut checked = check(&state, text).await?;
    if checked.definition.name != record.name {
        return Err(renamed(&record.name, &checked.definition.name));
    }
    give_paths(&state, &mut checked.definition, Some(&record)).await?;
    let mode = SaveMode::Update {
        id: record.id,
        if_version,
        publish,
    };
    let save = save_request(&state, &checked, note, identity, mode);
    let record = state.store().save_schema(save).await?;
    if publish {
        follow(&state, &record).await;
    }
    saved(&state, StatusCode::OK, &record, &checked.warnings).await
}

/// Makes a stored version the one in use. Older ones too: that is how a mistake is taken back.
pub(super) async fn publish(
    State(state): State<ApiState>,
    path: PathParts,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: PublishRequest = fields::read(body)?;
    let number = u32::try_from(asked.version).map_err(|_| no_version(asked.version))?;
    let record = find(&state, path.get("id")).await?;
    let wanted = PublishVersion {
        id: record.id,
        version: number,
        now: state.now(),
    };
    let record = state.store().publish_version(wanted).await?;
    follow(&state, &record).await;
    let version = version(&state, &record, number).await?;
    Ok(reply::ok(&Schema::full(&record, &version)))
}

/// Diagnostics are the answer here, not an error: even a text that is no JSON is a finding.
pub(super) async fn validate(State(state): State<ApiState>, text: SchemaText) -> ApiResult {
    let loaded = examine(&state, text).await?.unwrap_or_else(broken_json);
    let valid = loaded.definition.is_some() && !loaded.diagnostics.iter().any(Diagnostic::is_error);
    Ok(reply::ok(&Validation {
        valid,
        name: loaded.definition.map(|definition| definition.name),
        diagnostics: loaded
            .diagnostics
            .iter()
            .map(DiagnosticLine::from)
            .collect(),
    }))
}

pub(super) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let (limit, with_summary) = (query.limit()?, includes_summary(&query)?);
    let after: Option<String> = cursor::from_query(CursorKind::Schema, &query)?;
    let text = query.get("text").map(str::to_owned);
    let mut records = state.store().schemas(text, after, limit + 1).await?;
    let more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let next = records
        .last()
        .filter(|_| more)
        .map(|last| cursor::write(CursorKind::Schema, &last.name));
    let mut items: Vec<Schema<'_>> = records.iter().map(Schema::brief).collect();
    if with_summary {
        let summaries = summaries::of_schemas(&state, &records).await?;
        for (item, summary) in items.iter_mut().zip(summaries) {
            item.summary = Some(summary);
        }
    }
    Ok(reply::ok(&Page { items, next }))
}

/// Does a list carry more than the rows?
fn includes_summary(query: &Query) -> ApiResult<bool> {
    match query.get("include") {
        None => Ok(false),
        Some("summary") => Ok(true),
        Some(other) => {
            let message = unknown_name("include", other, &INCLUDED);
            Err(ApiError::invalid_query(message))
        }
    }
}

pub(super) async fn get(State(state): State<ApiState>, path: PathParts, query: Query) -> ApiResult {
    let wanted = wanted_version(&query)?;
    let record = find(&state, path.get("id")).await?;
    let version = version(&state, &record, wanted.unwrap_or(record.latest_version)).await?;
    let shown = reply::ok(&Schema::full(&record, &version));
    Ok(with_etag(shown, version.version))
}

pub(super) async fn versions(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let record = find(&state, path.get("id")).await?;
    let versions = state.store().versions(record.id).await?;
    Ok(reply::ok(&Page {
        items: versions
            .iter()
            .map(|version| Version::of(&record, version))
            .collect(),
        next: None,
    }))
}

pub(super) async fn remove(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let record = find(&state, path.get("id")).await?;
    if !state.store().delete_schema(record.id, state.now()).await? {
        return Err(missing(path.get("id")));
    }
    state.webhooks.changed();
    if let Err(error) = drop_triggers(state.runtime(), record.id).await {
        out_of_step(&record.name, &error.into());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Webhooks without a path get one that cannot be guessed, and keep it from version to version.
async fn give_paths(
    state: &ApiState,
    definition: &mut Definition,
    record: Option<&SchemaRecord>,
) -> ApiResult<()> {
    let is_bare = |entry: &Value| entry["type"] == "webhook" && entry["path"].is_null();
    if !definition.triggers.iter().any(is_bare) {
        return Ok(());
    }
    let mut earlier = Vec::new();
    if let Some(record) = record {
        // The address that is live counts before one of a draft.
        earlier.push(triggers_of(state, record, record.published_version).await?);
        if record.latest_version != record.published_version {
            earlier.push(triggers_of(state, record, record.latest_version).await?);
        }
    }
    let earlier: Vec<&[Value]> = earlier.iter().map(Vec::as_slice).collect();
    let entropy = &state.runtime().entropy;
    fill_paths(&mut definition.triggers, &earlier, || entropy.bits());
    let all = of_definition(definition);
    let clash = |(place, one): (usize, &NamedTrigger)| {
        let mut before = all[..place].iter();
        before.any(|other| one.trigger.clashes(&other.trigger))
    };
    if all.iter().enumerate().any(clash) {
        let message = "a webhook names the path that another one of this schema was given";
        let problem = Diagnostic::error("DUPLICATE_PATH", "/triggers", message);
        return Err(invalid(&[
            problem.hint("write the path of the other one too, or leave both out")
        ]));
    }
    Ok(())
}

async fn triggers_of(
    state: &ApiState,
    record: &SchemaRecord,
    number: u32,
) -> ApiResult<Vec<Value>> {
    let version = version(state, record, number).await?;
    let definition: Definition =
        serde_json::from_str(&version.definition).map_err(ApiError::internal)?;
    Ok(definition.triggers)
}

/// Its cron triggers follow a schema. It is saved whatever becomes of them: where they cannot follow now, the
/// service `cron_triggers` makes up for it.
async fn follow(state: &ApiState, record: &SchemaRecord) {
    state.webhooks.changed();
    if let Err(error) = keep_triggers_in_step(state.runtime(), record).await {
        out_of_step(&record.name, &error);
    }
}

fn out_of_step(schema: &str, error: &ControlError) {
    tracing::warn!(schema, %error, "its cron triggers follow later");
}

pub(super) async fn activate(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    set_active(&state, &path, true).await
}

pub(super) async fn deactivate(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    set_active(&state, &path, false).await
}

async fn set_active(state: &ApiState, path: &PathParts, active: bool) -> ApiResult {
    let record = find(state, path.get("id")).await?;
    state
        .store()
        .set_active(record.id, active, state.now())
        .await?;
    let record = find(state, path.get("id")).await?;
    follow(state, &record).await;
    Ok(reply::ok(&Schema::brief(&record)))
}

/// A schema's id from its id or name. An id is taken as it is: executions outlive deleted schemas.
pub(super) async fn id_of(state: &ApiState, key: &str) -> ApiResult<SchemaId> {
    match key.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(find(state, key).await?.id),
    }
}

pub(super) async fn find(state: &ApiState, key: &str) -> ApiResult<SchemaRecord> {
    state.store().schema(key).await?.ok_or_else(|| missing(key))
}

pub(super) fn missing(key: &str) -> ApiError {
    let shown: String = key
        .chars()
        .filter(|letter| !letter.is_control())
        .take(100)
        .collect();
    let number = !shown.is_empty() && shown.bytes().all(|byte| byte.is_ascii_digit());
    let hint = if number {
        format!("; {NUMBER_HINT}")
    } else {
        String::new()
    };
    ApiError::not_found(format!("there is no schema `{shown}`{hint}")).param("schema", shown)
}

fn no_version(number: u64) -> ApiError {
    ApiError::not_found(format!("there is no version {number}")).param("version", number)
}

pub(super) async fn version(
    state: &ApiState,
    record: &SchemaRecord,
    version: u32,
) -> ApiResult<VersionRecord> {
    let found = state.store().version(record.id, version).await?;
    found.ok_or_else(|| {
        ApiError::not_found(format!("`{}` has no version {version}", record.name))
            .param("schema", record.name.as_str())
            .param("version", version)
    })
}

/// The most characters of a note on a version: it is shown in one line of a list.
const NOTE_MAX: usize = 500;

fn version_note(query: &Query) -> ApiResult<Option<String>> {
    let Some(note) = query.get("note") else {
        return Ok(None);
    };
    let length = note.chars().count();
    if length > NOTE_MAX {
        return Err(ApiError::invalid_query(format!(
            "`note` has {length} characters; up to {NOTE_MAX} are kept with a version"
        )));
    }
    Ok(Some(note.to_owned()))
}

fn wanted_version(query: &Query) -> ApiResult<Option<u32>> {
    let Some(number) = query.whole("version")? else {
        return Ok(None);
    };
    let version = u32::try_from(number).map_err(|_| no_version(number))?;
    Ok(Some(version))
}

/// A definition without errors, and what is worth a warning.
struct CheckedDefinition {
    definition: Definition,
    /// What it was read from.
    source: SourceText,
    warnings: Vec<Diagnostic>,
}

async fn check(state: &ApiState, text: SchemaText) -> ApiResult<CheckedDefinition> {
    let source = SourceText {
        text: text.text.clone(),
        format: text.format,
    };
    let loaded = examine(state, text).await??;
    let failed = loaded.diagnostics.iter().any(Diagnostic::is_error);
    match loaded.definition {
        Some(definition) if !failed => Ok(CheckedDefinition {
            definition,
            source,
            warnings: loaded.diagnostics,
        }),
        _ => Err(invalid(&loaded.diagnostics)),
    }
}

/// The edge's rules for JSON come before the rules for schemas. Parsing and compiling a large schema takes a
/// while: not on the threads that serve all requests.
async fn examine(state: &ApiState, text: SchemaText) -> ApiResult<Result<LoadedSchema, JsonError>> {
    let registry = state.runtime().registry.clone();
    let work = move || match text.format {
        SourceFormat::Json => {
            json::read(text.text.as_bytes()).map(|_| load(None, &text.text, &registry))
        }
        SourceFormat::Yaml => Ok(load(None, &text.text, &registry)),
    };
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ApiError::internal)
}

fn broken_json(error: JsonError) -> LoadedSchema {
    let mut problem = Diagnostic::error("INVALID_JSON", "", error.message);
    problem.place = Some(Place {
        line: error.line,
        column: error.column,
        length: 1,
    });
    LoadedSchema {
        definition: None,
        diagnostics: vec![problem],
    }
}

fn invalid(diagnostics: &[Diagnostic]) -> ApiError {
    ApiError::diagnosed("INVALID_SCHEMA", "schema", diagnostics)
}

fn renamed(old: &str, new: &str) -> ApiError {
    let message = format!("a new version keeps the name `{old}`; the body says `{new}`");
    invalid(&[
        Diagnostic::error("NAME_MISMATCH", "/name", message).hint("create another schema instead")
    ])
}

fn save_request(
    state: &ApiState,
    checked: &CheckedDefinition,
    note: Option<String>,
    identity: Identity,
    mode: SaveMode,
) -> SaveSchema {
    let now = state.now();
    let definition = &checked.definition;
    SaveSchema {
        id: SchemaId(time_ordered(now, &*state.runtime().entropy)),
        name: definition.name.clone(),
        description: definition.description.clone(),
        definition: to_stored_json(definition),
        hash: content_hash(definition),
        source: Some(checked.source.clone()),
        note,
        created_by: identity.writer(),
        now,
        mode,
    }
}

async fn saved(
    state: &ApiState,
    status: StatusCode,
    record: &SchemaRecord,
    warnings: &[Diagnostic],
) -> ApiResult {
    let version = version(state, record, record.latest_version).await?;
    let shown = SavedSchema {
        schema: Schema::full(record, &version),
        warnings: warnings.iter().map(DiagnosticLine::from).collect(),
    };
    Ok(with_etag(reply::json(status, &shown), version.version))
}

fn with_etag(mut response: Response, version: u32) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The version a client has seen: `3` or `"3"`; `*` asks for nothing.
pub(super) fn if_match(headers: &HeaderMap) -> ApiResult<Option<u32>> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let quoted = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let version = quoted.unwrap_or(text).parse().ok();
    version.map(Some).ok_or_else(|| {
        ApiError::invalid_header(
            "If-Match takes the version or revision last seen, as in the ETag: \"3\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_in_every_spelling() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::from_static(text));
            if_match(&headers)
        };
        assert_eq!(read("3").unwrap(), Some(3));
        assert_eq!(read("\"12\"").unwrap(), Some(12));
        assert_eq!(read("*").unwrap(), None);
        for text in [
            "",
            "x",
            "\"3",
            "W/\"3\"",
            "\"2\", \"3\"",
            "-1",
            "4294967296",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
