//! What editors keep beside the versions of a schema, layouts and pins, and the names that they complete.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pawl_kernel::operations::{
    LAYOUT_BYTES_MAX, LayoutRefusal, ListPins, PIN_BYTES_MAX, PINS_BYTES_MAX, PINS_MAX,
    Pin as StoredPin, PinRefusal, PutLayout, PutPin, ReadLayout, ReadPin, RemovePin, StoredLayout,
    perform,
};
use pawl_kernel::ports::store::SchemaRecord;
use pawl_kernel::schema::definition::Definition;
use serde_json::json;

use super::ApiState;
use super::body::JsonBody;
use super::error::{ApiError, ApiResult};
use super::fields;
use super::guard::{Identity, shorten};
use super::path::PathParts;
use super::reply;
use super::schemas::{find, if_match, missing, version};
use crate::wire::{self, KnownName, Layout, NamedConnection, Page, Point, ShownLayout, Time};

mod layout;
pub(super) mod trial;

/// No id of a node is longer.
const NODE_CHARS_MAX: usize = 200;

pub(super) async fn show_layout(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let record = find(&state, path.get("id")).await?;
    let read = ReadLayout {
        schema_id: record.id,
    };
    match perform(state.store(), read).await? {
        Some(stored) => shown(&stored),
        None => Ok(with_revision(&ShownLayout {
            positions: positions_of_version(&state, &record).await?,
            notes: Vec::new(),
            groups: Vec::new(),
            revision: 0,
            updated_by: None,
            updated_at: None,
        })),
    }
}

/// Texts are redacted: they are kept, and shown to whom they were not written.
pub(super) async fn put_layout(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    headers: HeaderMap,
    JsonBody(mut body): JsonBody,
) -> ApiResult {
    let if_revision = if_match(&headers)?.map(u64::from);
    let record = find(&state, path.get("id")).await?;
    state.runtime().redactor.value(&mut body);
    let asked: Layout = fields::read(body)?;
    layout::check(&asked)?;
    let text = json!(asked).to_string();
    if text.len() > LAYOUT_BYTES_MAX {
        return Err(too_large("the layout", text.len(), LAYOUT_BYTES_MAX));
    }
    let put = PutLayout {
        schema_id: record.id,
        if_revision,
        layout: text,
        updated_by: identity.created_by,
        now: state.now(),
    };
    match perform(state.store(), put).await? {
        Ok(stored) => shown(&stored),
        Err(LayoutRefusal::NoSchema) => Err(missing(path.get("id"))),
        Err(LayoutRefusal::Conflict { revision }) => Err(conflict(revision, if_revision)),
    }
}

fn conflict(revision: u64, expected: Option<u64>) -> ApiError {
    let expected = expected.unwrap_or_default();
    let message = format!("the layout is at revision {revision}, not {expected}");
    ApiError::new(
        StatusCode::PRECONDITION_FAILED,
        "PRECONDITION_FAILED",
        message,
    )
    .details(json!({"latest": revision, "expected": expected}))
}

fn shown(stored: &StoredLayout) -> ApiResult {
    let layout: Layout = serde_json::from_str(&stored.layout).map_err(ApiError::internal)?;
    Ok(with_revision(&ShownLayout {
        positions: layout.positions,
        notes: layout.notes,
        groups: layout.groups,
        revision: stored.revision,
        updated_by: Some(stored.updated_by.as_str().into()),
        updated_at: Some(Time(stored.updated_at)),
    }))
}

fn with_revision(shown: &ShownLayout<'_>) -> Response {
    let mut response = reply::ok(shown);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", shown.revision)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Exports of React Flow say where their nodes are.
async fn positions_of_version(
    state: &ApiState,
    record: &SchemaRecord,
) -> ApiResult<BTreeMap<String, Point>> {
    let latest = version(state, record, record.latest_version).await?;
    let definition: Definition =
        serde_json::from_str(&latest.definition).map_err(ApiError::internal)?;
    let placed = definition.nodes.iter().filter_map(|node| {
        let position = node.position.as_ref()?;
        let (x, y) = (position["x"].as_f64()?, position["y"].as_f64()?);
        Some((node.id.clone(), Point { x, y }))
    });
    Ok(placed.collect())
}

pub(super) async fn list_pins(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let schema_id = find(&state, path.get("id")).await?.id;
    let heads = perform(state.store(), ListPins { schema_id }).await?;
    Ok(reply::ok(&Page {
        items: heads.iter().map(wire::Pin::from).collect(),
        next: None,
    }))
}

pub(super) async fn show_pin(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let read = ReadPin {
        schema_id: find(&state, path.get("id")).await?.id,
        node_id: path.get("node").to_owned(),
    };
    match perform(state.store(), read).await? {
        Some(pin) => Ok(reply::ok(&wire::Pin::from(&pin))),
        None => Err(no_pin(&path)),
    }
}

pub(super) async fn put_pin(
    State(state): State<ApiState>,
    path: PathParts,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let schema_id = find(&state, path.get("id")).await?.id;
    let asked: wire::PutPin = fields::read(body)?;
    let pin = read_pin(&state, path.get("node"), asked, identity)?;
    let put = PutPin {
        schema_id,
        pin: pin.clone(),
    };
    match perform(state.store(), put).await? {
        Ok(()) => Ok(reply::ok(&wire::Pin::from(&pin))),
        Err(PinRefusal::NoSchema) => Err(missing(path.get("id"))),
        Err(PinRefusal::TooMany) => Err(too_many(&format!("{PINS_MAX} pins"))),
        Err(PinRefusal::TooLarge) => Err(too_many(&format!(
            "pins with {PINS_BYTES_MAX} bytes of output together"
        ))),
    }
}

fn read_pin(
    state: &ApiState,
    node: &str,
    asked: wire::PutPin,
    identity: Identity,
) -> ApiResult<StoredPin> {
    if node.is_empty() || node.chars().count() > NODE_CHARS_MAX {
        return Err(ApiError::invalid_request(format!(
            "the id of a node has 1 to {NODE_CHARS_MAX} characters"
        )));
    }
    let mut output = asked
        .output
        .ok_or_else(|| ApiError::invalid_request("`output` is missing; null is a value too"))?;
    state.runtime().redactor.value(&mut output);
    let output = output.to_string();
    if output.len() > PIN_BYTES_MAX {
        return Err(too_large("`output`", output.len(), PIN_BYTES_MAX));
    }
    Ok(StoredPin {
        node_id: node.to_owned(),
        handle: asked.handle.map(|handle| handle.0),
        output,
        updated_by: identity.created_by,
        updated_at: state.now(),
    })
}

pub(super) async fn remove_pin(State(state): State<ApiState>, path: PathParts) -> ApiResult {
    let remove = RemovePin {
        schema_id: find(&state, path.get("id")).await?.id,
        node_id: path.get("node").to_owned(),
    };
    match perform(state.store(), remove).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(no_pin(&path)),
    }
}

fn no_pin(path: &PathParts) -> ApiError {
    let node = shorten(path.get("node"));
    ApiError::not_found(format!("the node `{node}` has no pin"))
}

fn too_many(what: &str) -> ApiError {
    let message = format!("a schema has at most {what}; remove some first");
    ApiError::conflict(message)
}

fn too_large(what: &str, bytes: usize, limit: usize) -> ApiError {
    let message = format!("{what} has {bytes} bytes; up to {limit} are kept");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "LIMIT_EXCEEDED", message)
        .details(json!({"limit_bytes": limit}))
}

pub(super) async fn connections(State(state): State<ApiState>) -> ApiResult {
    let all = state.runtime().options.connections.iter();
    let items: Vec<NamedConnection<'_>> = all
        .map(|(name, kind)| NamedConnection {
            name: name.as_str().into(),
            kind: wire::Name::new(kind),
        })
        .collect();
    Ok(reply::ok(&Page { items, next: None }))
}

pub(super) async fn secrets(State(state): State<ApiState>) -> ApiResult {
    Ok(known_names(state.runtime().options.secrets.keys()))
}

pub(super) async fn env(State(state): State<ApiState>) -> ApiResult {
    let mut names: Vec<&String> = state.runtime().options.env.keys().collect();
    names.sort();
    Ok(known_names(names.into_iter()))
}

fn known_names<'a>(names: impl Iterator<Item = &'a String>) -> Response {
    let item = |name: &'a String| KnownName {
        name: name.as_str().into(),
    };
    reply::ok(&Page {
        items: names.map(item).collect(),
        next: None,
    })
}
