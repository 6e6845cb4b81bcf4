//! Config strings with `{{ }}` in them.
//!
//! What an expression gives is put into the text and never read again as a template. In a URL it
//! is also encoded, so that a value cannot add path segments or parameters, and next to the host
//! it is checked, so that it cannot lead to another one.

use std::sync::Arc;

use serde_json::Value;

use super::ast::{Expr, ExprKind, Reference};
use super::encoding::percent_encode_into;
use super::error::{ExprError, Span};
use super::eval::Evaluator;
use super::meter::Meter;
use super::value::Val;
use super::{EXPRESSION_BYTES_MAX, Scope, parser};

/// Longest text that may contain `{{ }}`. Plain text has no limit of its own.
const TEMPLATE_BYTES_MAX: usize = 64 * 1024;

/// What happens to a value on its way into the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Text,
    /// Values inside the path or query are percent-encoded unless the expression ends in `| raw`.
    Url,
}

/// A config string, compiled once. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template(Arc<TemplateCode>);

#[derive(Debug)]
struct TemplateCode {
    text: String,
    encoding: Encoding,
    parts: Vec<Part>,
    references: Vec<Reference>,
}

#[derive(Debug)]
enum Part {
    /// A stretch of the text as written.
    Text(Span),
    Hole(Expr),
}

impl Template {
    pub fn compile(text: &str, encoding: Encoding) -> Result<Template, ExprError> {
        let (parts, references) = split(text)?;
        let text = text.to_owned();
        Ok(Template(Arc::new(TemplateCode {
            text,
            encoding,
            parts,
            references,
        })))
    }

    /// A text that is one `{{ }}` keeps the type of its value, everything else gives a string.
    pub fn render(&self, scope: &Scope<'_>, meter: &mut Meter) -> Result<Value, ExprError> {
        let compiled = &*self.0;
        let mut evaluator = Evaluator::new(&compiled.text, scope, meter);
        match compiled.parts.as_slice() {
            [Part::Hole(expr)] => {
                let value = evaluator.eval(expr)?;
                if let (Encoding::Url, Val::Text(text)) = (compiled.encoding, &value) {
                    refuse_control_characters(text, expr.span)?;
                }
                evaluator.json_of(&value, expr.span)
            }
            _ => compiled.render_text(&mut evaluator).map(Value::String),
        }
    }

    /// The plain text, if there is no `{{ }}` in it.
    pub fn literal(&self) -> Option<&str> {
        let is_plain = self
            .0
            .parts
            .iter()
            .all(|part| matches!(part, Part::Text(_)));
        is_plain.then_some(self.0.text.as_str())
    }

    pub fn source(&self) -> &str {
        &self.0.text
    }

    pub fn references(&self) -> Vec<&Reference> {
        self.0.references.iter().collect()
    }
}

/// Finds the holes by parsing them: a text inside an expression may well contain `}}`.
fn split(text: &str) -> Result<(Vec<Part>, Vec<Reference>), ExprError> {
    let mut parts = Vec::new();
    let mut references = Vec::new();
    let mut position = 0;
    while let Some(offset) = text[position..].find("{{") {
        let hole = position + offset;
        check_length(text, hole)?;
        push_text(&mut parts, position, hole);
        let parsed = parser::parse_hole(text, hole + 2)?;
        if parsed.end - hole > EXPRESSION_BYTES_MAX {
            return Err(super::too_long(
                EXPRESSION_BYTES_MAX,
                Span::new(hole, parsed.end),
            ));
        }
        parts.push(Part::Hole(parsed.root));
        references.extend(parsed.references);
        position = parsed.end;
    }
    push_text(&mut parts, position, text.len());
    Ok((parts, references))
}

fn check_length(text: &str, hole: usize) -> Result<(), ExprError> {
    match text.len() <= TEMPLATE_BYTES_MAX {
        true => Ok(()),
        false => Err(super::too_long(
            TEMPLATE_BYTES_MAX,
            Span::new(hole, hole + 2),
        )),
    }
}

fn push_text(parts: &mut Vec<Part>, start: usize, end: usize) {
    if start < end {
        parts.push(Part::Text(Span::new(start, end)));
    }
}

impl TemplateCode {
    fn render_text<'a>(&'a self, evaluator: &mut Evaluator<'a>) -> Result<String, ExprError> {
        let mut out = String::new();
        let mut encoded = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(span) => {
                    evaluator.meter.allocate(span.end - span.start, *span)?;
                    out.push_str(&self.text[span.start..span.end]);
                }
                Part::Hole(expr) => {
                    let start = out.len();
                    if self.fill(expr, evaluator, &mut out)? {
                        encoded.push((start, expr.span));
                    }
                }
            }
        }
        for (position, span) in encoded {
            refuse_dot_segment(&out, position, span)?;
        }
        Ok(out)
    }

    /// Appends the value; true if it was encoded for a URL.
    fn fill<'a>(
        &self,
        expr: &'a Expr,
        evaluator: &mut Evaluator<'a>,
        out: &mut String,
    ) -> Result<bool, ExprError> {
        let value = evaluator.eval(expr)?;
        let text = evaluator.text_of(&value, expr.span)?;
        evaluator.meter.allocate(text.len(), expr.span)?;
        if self.encoding == Encoding::Text {
            out.push_str(&text);
            return Ok(false);
        }
        if is_raw(expr) || !is_behind_origin(out) {
            refuse_control_characters(&text, expr.span)?;
            if !is_raw(expr) && out.contains("://") {
                refuse_end_of_host(&text, expr.span)?;
            }
            out.push_str(&text);
            return Ok(false);
        }
        evaluator.meter.allocate(text.len() * 2, expr.span)?;
        percent_encode_into(&text, out);
        Ok(true)
    }
}

fn is_raw(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(function, _) if function.name == "raw")
}

/// Has the scheme and host ended, so that what follows is path, query or fragment?
fn is_behind_origin(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.contains(['/', '\\', '?', '#'])
}

fn refuse_control_characters(text: &str, span: Span) -> Result<(), ExprError> {
    match text.chars().any(char::is_control) {
        true => Err(ExprError::invalid("a control character in a URL", span)),
        false => Ok(()),
    }
}

/// Between `://` and the path a value may be a host or a port, not lead to another host.
fn refuse_end_of_host(text: &str, span: Span) -> Result<(), ExprError> {
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%:[]".contains(&byte);
    match text.bytes().all(is_host) {
        true => Ok(()),
        false => Err(
            ExprError::invalid("a value next to the host is not a host name", span)
                .with_hint("write the `/` in the text, or use `| raw` if the value is trusted"),
        ),
    }
}

/// `.` and `..` walk up the path even when encoded, so a value must not become such a segment.
fn refuse_dot_segment(url: &str, position: usize, span: Span) -> Result<(), ExprError> {
    let (before, after) = url.split_at(position);
    if before.contains(['?', '#']) {
        return Ok(());
    }
    let start = before.rfind(['/', '\\']).map_or(0, |slash| slash + 1);
    let end = after.find(['/', '\\', '?', '#']).unwrap_or(after.len());
    let segment = format!("{}{}", &before[start..], &after[..end]);
    match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
        "." | ".." => Err(
            ExprError::invalid("a value makes a `.` or `..` in the path", span)
                .with_hint("such a segment leads to another path than the one written"),
        ),
        _ => Ok(()),
    }
}
