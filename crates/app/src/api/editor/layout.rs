//! What a layout may be: a canvas that draws it must not be brought down by it.

use std::collections::HashSet;

use super::super::error::{ApiError, ApiResult};
use super::NODE_CHARS_MAX;
use crate::wire::{CanvasGroup, CanvasNote, Layout};

const POSITIONS_MAX: usize = 5_000;
const ITEMS_MAX: usize = 500;
const TEXT_CHARS_MAX: usize = 4_000;
const TITLE_CHARS_MAX: usize = 200;
const COLOR_CHARS_MAX: usize = 32;
/// Farther out nothing can be found again.
const FAR: f64 = 10_000_000.0;

pub(super) fn check(layout: &Layout) -> ApiResult<()> {
    count("positions", layout.positions.len(), POSITIONS_MAX)?;
    for (node, point) in &layout.positions {
        chars("an id in `positions`", node, 1, NODE_CHARS_MAX)?;
        place(&format!("positions.{}", shown(node)), [point.x, point.y])?;
    }
    count("notes", layout.notes.len(), ITEMS_MAX)?;
    for (index, note) in layout.notes.iter().enumerate() {
        check_note(&format!("notes[{index}]"), note)?;
    }
    count("groups", layout.groups.len(), ITEMS_MAX)?;
    for (index, group) in layout.groups.iter().enumerate() {
        check_group(&format!("groups[{index}]"), group)?;
    }
    own_ids("notes", layout.notes.iter().map(|note| &note.id))?;
    own_ids("groups", layout.groups.iter().map(|group| &group.id))
}

fn check_note(at: &str, note: &CanvasNote) -> ApiResult<()> {
    chars(&format!("`{at}.id`"), &note.id, 1, NODE_CHARS_MAX)?;
    chars(&format!("`{at}.text`"), &note.text, 0, TEXT_CHARS_MAX)?;
    color(at, note.color.as_deref())?;
    place(at, [note.x, note.y])?;
    size(at, [note.width, note.height])
}

fn check_group(at: &str, group: &CanvasGroup) -> ApiResult<()> {
    chars(&format!("`{at}.id`"), &group.id, 1, NODE_CHARS_MAX)?;
    chars(&format!("`{at}.title`"), &group.title, 0, TITLE_CHARS_MAX)?;
    color(at, group.color.as_deref())?;
    place(at, [group.x, group.y])?;
    size(at, [group.width, group.height])
}

fn color(at: &str, color: Option<&str>) -> ApiResult<()> {
    let Some(color) = color else { return Ok(()) };
    chars(&format!("`{at}.color`"), color, 1, COLOR_CHARS_MAX)
}

fn count(name: &str, count: usize, most: usize) -> ApiResult<()> {
    match count <= most {
        true => Ok(()),
        false => Err(ApiError::invalid_request(format!(
            "`{name}` has {count} entries; up to {most} are kept"
        ))),
    }
}

fn chars(what: &str, text: &str, least: usize, most: usize) -> ApiResult<()> {
    let count = text.chars().count();
    match (least..=most).contains(&count) {
        true => Ok(()),
        false => Err(ApiError::invalid_request(format!(
            "{what} has {count} characters; it must have {least} to {most}"
        ))),
    }
}

fn place(at: &str, numbers: [f64; 2]) -> ApiResult<()> {
    match numbers.iter().all(|number| number.abs() <= FAR) {
        true => Ok(()),
        false => Err(ApiError::invalid_request(format!(
            "`{at}`: `x` and `y` must be between -{FAR} and {FAR}"
        ))),
    }
}

fn size(at: &str, numbers: [f64; 2]) -> ApiResult<()> {
    match numbers.iter().all(|number| (0.0..=FAR).contains(number)) {
        true => Ok(()),
        false => Err(ApiError::invalid_request(format!(
            "`{at}`: `width` and `height` must be between 0 and {FAR}"
        ))),
    }
}

fn own_ids<'a>(name: &str, ids: impl Iterator<Item = &'a String>) -> ApiResult<()> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(ApiError::invalid_request(format!(
                "two of `{name}` have the id `{}`",
                shown(id)
            )));
        }
    }
    Ok(())
}

fn shown(id: &str) -> String {
    id.chars().take(60).collect()
}
