//! Short ways to write the fields of a spec.

use super::form::FieldForm;
use super::{FieldKind, FieldMode, FieldSpec};

pub const fn required(
    name: &'static str,
    kind: FieldKind,
    mode: FieldMode,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec {
        name,
        kind,
        mode,
        required: true,
        default: None,
        doc,
        form: FieldForm::PLAIN,
    }
}

pub const fn optional(
    name: &'static str,
    kind: FieldKind,
    mode: FieldMode,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec {
        name,
        kind,
        mode,
        required: false,
        default: None,
        doc,
        form: FieldForm::PLAIN,
    }
}

/// `default` is JSON text.
pub const fn defaulted(
    name: &'static str,
    kind: FieldKind,
    mode: FieldMode,
    default: &'static str,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec {
        name,
        kind,
        mode,
        required: false,
        default: Some(default),
        doc,
        form: FieldForm::PLAIN,
    }
}
