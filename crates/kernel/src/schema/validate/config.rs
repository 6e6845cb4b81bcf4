//! A node's config against the field table of its type.

use serde_json::{Map, Value};

use crate::node::{FieldKind, FieldMode, FieldSpec, NodeSpec};
use crate::schema::codes;
use crate::schema::definition::NodeDefinition;
use crate::schema::findings::{Finding, Findings, join};
use crate::schema::graph::config::fitting;
use crate::schema::read::{describe, duration};

pub(super) fn check(
    node: &NodeDefinition,
    pointer: &str,
    spec: &NodeSpec,
    findings: &mut Findings,
) {
    let mut checker = Checker {
        node: &node.id,
        findings,
    };
    match &node.config {
        Value::Object(map) => checker.fields(map, spec.fields, pointer, spec.node_type),
        Value::Null => checker.fields(&Map::new(), spec.fields, pointer, spec.node_type),
        other => checker.wrong_type(pointer, "config", "an object", other),
    }
}

struct Checker<'a> {
    node: &'a str,
    findings: &'a mut Findings,
}

impl Checker<'_> {
    fn fields(
        &mut self,
        map: &Map<String, Value>,
        fields: &[FieldSpec],
        pointer: &str,
        owner: &str,
    ) {
        for (name, value) in map {
            match fields.iter().find(|field| field.name == name) {
                Some(field) => self.field(value, field, &join(pointer, name)),
                None => self.unknown(name, fields, pointer, owner),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if !map.contains_key(field.name) {
                let message = format!("`{owner}` needs the field `{}`", field.name);
                let finding = Finding::error(codes::MISSING_FIELD, pointer, message);
                let finding = finding.param("field", field.name).param("owner", owner);
                self.add(finding.hint(field.doc));
            }
        }
    }

    fn unknown(&mut self, name: &str, fields: &[FieldSpec], pointer: &str, owner: &str) {
        let message = format!("`{owner}` has no field `{name}`");
        let hint = self
            .findings
            .suggest(name, fields.iter().map(|field| field.name));
        let finding = Finding::error(codes::UNKNOWN_FIELD, join(pointer, name), message);
        let finding = finding.param("field", name).param("owner", owner);
        self.add(finding.key().maybe_hint(hint));
    }

    fn field(&mut self, value: &Value, field: &FieldSpec, pointer: &str) {
        if value.is_null() && !field.required {
            return;
        }
        self.value(value, &field.kind, field.mode, pointer, field.name);
    }

    fn value(
        &mut self,
        value: &Value,
        kind: &FieldKind,
        mode: FieldMode,
        pointer: &str,
        name: &str,
    ) {
        if is_expression(value, mode) {
            return;
        }
        let kind = fitting(kind, value);
        match (kind, value) {
            (FieldKind::Any, _)
            | (FieldKind::Text, Value::String(_))
            | (FieldKind::Boolean, Value::Bool(_))
            | (FieldKind::Number, Value::Number(_)) => {}
            (FieldKind::Integer { min, max }, Value::Number(number)) if !number.is_f64() => {
                self.range(number, *min, *max, pointer, name);
            }
            (FieldKind::Duration, Value::String(_) | Value::Number(_)) => {
                if let Err(message) = duration(value) {
                    let finding = Finding::error(codes::BAD_DURATION, pointer, message);
                    self.add(finding.param("field", name));
                }
            }
            (FieldKind::Choice(names), Value::String(word)) => {
                self.choice(word, names, pointer, name)
            }
            (FieldKind::List(item), Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.value(value, item, mode, &join(pointer, index), name);
                }
            }
            (FieldKind::Map(inner), Value::Object(map)) => {
                for (key, value) in map {
                    self.value(value, inner, mode, &join(pointer, key), key);
                }
            }
            (FieldKind::Object(fields), Value::Object(map)) => {
                self.fields(map, fields, pointer, name)
            }
            (FieldKind::Either(kinds), _) => self.either(value, kinds, mode, pointer, name),
            _ => self.wrong_type(pointer, name, &wanted(kind), value),
        }
    }

    fn range(
        &mut self,
        number: &serde_json::Number,
        min: i64,
        max: i64,
        pointer: &str,
        name: &str,
    ) {
        let fits = number
            .as_i64()
            .is_some_and(|number| (min..=max).contains(&number));
        if !fits {
            let message = format!("`{name}` is {number}; it must be from {min} to {max}");
            let finding = Finding::error(codes::OUT_OF_RANGE, pointer, message);
            let finding = finding.param("from", min).param("to", max);
            self.add(finding.param("field", name).param("found", number.clone()));
        }
    }

    fn choice(&mut self, word: &str, names: &[&str], pointer: &str, name: &str) {
        if !names.contains(&word) {
            let message = format!("`{name}` cannot be `{word}`");
            let hint = self.findings.suggest(word, names.iter().copied());
            let finding = Finding::error(codes::UNKNOWN_CHOICE, pointer, message);
            let finding = finding.param("field", name).param("found", word);
            self.add(finding.maybe_hint(hint));
        }
    }

    /// Tries the kinds in turn. If none fits and just one has the value's type, its complaint is the
    /// useful one.
    fn either(
        &mut self,
        value: &Value,
        kinds: &[FieldKind],
        mode: FieldMode,
        pointer: &str,
        name: &str,
    ) {
        let mut nearest: Option<Findings> = None;
        for kind in kinds {
            let mut findings = Findings::default();
            let mut trial = Checker {
                node: self.node,
                findings: &mut findings,
            };
            trial.value(value, kind, mode, pointer, name);
            if findings.errors() == 0 {
                return;
            }
            if !findings.has(codes::WRONG_TYPE) {
                nearest.get_or_insert(findings);
            }
        }
        match nearest {
            Some(findings) => self.findings.extend(findings),
            None => self.wrong_type(pointer, name, &any_of(kinds), value),
        }
    }

    fn wrong_type(&mut self, pointer: &str, name: &str, wanted: &str, found: &Value) {
        let message = format!("`{name}` must be {wanted}, this is {}", describe(found));
        let finding = Finding::error(codes::WRONG_TYPE, pointer, message)
            .param("field", name)
            .param("wanted", wanted)
            .param("found", describe(found));
        let scalar = found.is_number() || found.is_boolean();
        self.add(if wanted == TEXT && scalar {
            finding.hint("put it in quotes")
        } else {
            finding
        });
    }

    fn add(&mut self, finding: Finding) {
        self.findings.add(finding.node(Some(self.node)));
    }
}

/// What an expression gives is known only when it runs.
fn is_expression(value: &Value, mode: FieldMode) -> bool {
    let Value::String(text) = value else {
        return false;
    };
    match mode {
        FieldMode::Raw => false,
        FieldMode::Expression | FieldMode::LateExpression => true,
        FieldMode::Template | FieldMode::LateTemplate | FieldMode::Url => text.contains("{{"),
    }
}

const TEXT: &str = "text";

fn wanted(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text => TEXT.into(),
        FieldKind::Boolean => "true or false".into(),
        FieldKind::Integer { .. } => "a whole number".into(),
        FieldKind::Number => "a number".into(),
        FieldKind::Duration => "a duration such as 30s or a number of seconds".into(),
        FieldKind::Choice(names) => format!("one of {}", names.join(", ")),
        FieldKind::Map(_) | FieldKind::Object(_) => "an object".into(),
        FieldKind::List(_) => "a list".into(),
        FieldKind::Either(kinds) => any_of(kinds),
        FieldKind::Any => "any value".into(),
    }
}

fn any_of(kinds: &[FieldKind]) -> String {
    let wanted: Vec<String> = kinds.iter().map(wanted).collect();
    wanted.join(" or ")
}
