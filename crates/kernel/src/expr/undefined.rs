//! The error for a path that leads nowhere: what was written, where it stopped, what is there.

use super::ast::{Base, Path, SegmentKey};
use super::error::{ErrorCode, ExprError, Span};
use super::eval::Evaluator;
use super::functions;
use super::lexer::is_name;
use super::nearest::nearest;
use super::parser::clipped;
use super::value::Val;

const NAMES_LISTED_MAX: usize = 5;

impl<'a> Evaluator<'a> {
    #[cold]
    pub(super) fn undefined_root(&self, path: &Path, span: Span) -> ExprError {
        if self.tolerating > 0 {
            return tolerated(span);
        }
        let Base::Root(root) = &path.base else {
            return tolerated(span);
        };
        let written = self.written(span);
        let message = match path.segments.is_empty() {
            true => format!("`{written}` is not defined"),
            false => format!(
                "`{written}` is not defined: there is no `{}`",
                clipped(root)
            ),
        };
        let error = ExprError::new(ErrorCode::UndefinedPath, message, span);
        if functions::find(root).is_some() && path.segments.is_empty() {
            return error.with_hint(format!("`{root}` is a function, call it: `{root}(…)`"));
        }
        let names: Vec<&str> = self.scope.names().collect();
        error.with_hint(suggestion(Some(root), &names))
    }

    #[cold]
    pub(super) fn undefined_segment(
        &self,
        path: &Path,
        at: usize,
        holder: &Val<'a>,
        span: Span,
    ) -> ExprError {
        if self.tolerating > 0 {
            return tolerated(span);
        }
        let Some(segment) = path.segments.get(at) else {
            return tolerated(span);
        };
        let before = at.checked_sub(1).and_then(|at| path.segments.get(at));
        let stop = before.map_or(path.base_end, |segment| segment.end);
        let reason = reason(
            self.written(Span::new(span.start, stop)),
            &segment.key,
            holder,
        );
        let message = format!("`{}` is not defined: {reason}", self.written(span));
        let failed = Span::new(span.start, segment.end);
        let error = ExprError::new(ErrorCode::UndefinedPath, message, failed);
        match hint(&segment.key, holder) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    fn written(&self, span: Span) -> &'a str {
        clipped(
            self.source
                .get(span.start..span.end)
                .unwrap_or_default()
                .trim(),
        )
    }
}

/// No user will see this error, so nothing is spent on explaining it.
fn tolerated(span: Span) -> ExprError {
    ExprError::new(ErrorCode::UndefinedPath, String::new(), span)
}

fn reason(holder_path: &str, key: &SegmentKey, holder: &Val<'_>) -> String {
    match (holder, key) {
        (Val::Object(_), SegmentKey::Key(name)) => {
            format!("`{holder_path}` has no `{}`", clipped(name))
        }
        (Val::Object(_), SegmentKey::Index(_)) => {
            format!("`{holder_path}` is an object and has no numbered elements")
        }
        (Val::Object(_), SegmentKey::Dynamic(_)) => format!("`{holder_path}` has no such key"),
        (Val::List(_), SegmentKey::Key(_)) => {
            format!("`{holder_path}` is a list and has no named members")
        }
        (Val::List(list), _) => format!("`{holder_path}` has {} elements", list.len()),
        (other, _) => format!("`{holder_path}` is {}", with_article(other.type_name())),
    }
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "null" => "null".to_owned(),
        _ => format!("a {type_name}"),
    }
}

fn hint(key: &SegmentKey, holder: &Val<'_>) -> Option<String> {
    match (holder, key) {
        (Val::Object(object), _) => {
            let wanted = match key {
                SegmentKey::Key(name) => Some(&**name),
                SegmentKey::Index(_) | SegmentKey::Dynamic(_) => None,
            };
            let keys: Vec<_> = object.iter().take(1_000).map(|(key, _)| key).collect();
            let names: Vec<&str> = keys.iter().map(|key| &**key).collect();
            Some(suggestion(wanted, &names))
        }
        (Val::List(_), SegmentKey::Key(_)) => {
            Some("an element is `list[0]`, a member of each is `map(list, x => x.name)`".to_owned())
        }
        (Val::Null, _) => Some("use `?.` or `??` where the value may be missing".to_owned()),
        (Val::Text(_), _) => Some("if it is JSON text, use parse_json(…) first".to_owned()),
        _ => None,
    }
}

/// `steps.http-1` reads as `steps.http` minus 1, so the missing name is only the beginning.
fn is_hyphenated(name: &str, beginning: &str) -> bool {
    let rest = name.strip_prefix(beginning);
    rest.is_some_and(|rest| rest.starts_with('-'))
}

fn suggestion(wanted: Option<&str>, names: &[&str]) -> String {
    let hyphenated = |wanted: &str| {
        names
            .iter()
            .find(|name| is_hyphenated(name, wanted))
            .copied()
    };
    let typo = |wanted: &str| nearest(wanted, names.iter().copied());
    if let Some(known) = wanted.and_then(|name| hyphenated(name).or_else(|| typo(name))) {
        return match is_name(known) {
            true => format!("did you mean `{known}`?"),
            false => format!("did you mean `[{known:?}]`?"),
        };
    }
    if names.is_empty() {
        return "it is empty".to_owned();
    }
    let listed = names.iter().take(NAMES_LISTED_MAX);
    let listed: Vec<String> = listed.map(|name| format!("`{}`", clipped(name))).collect();
    let more = match names.len() > NAMES_LISTED_MAX {
        true => ", …",
        false => "",
    };
    format!("available: {}{more}", listed.join(", "))
}
