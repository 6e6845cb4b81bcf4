//! Short ways to write the fields of a spec.

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
    }
}
