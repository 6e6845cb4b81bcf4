//! Short ways to write the fields of a spec.

use pawl_kernel::node::{FieldKind, FieldMode, FieldSpec};

pub(crate) const fn required(
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

pub(crate) const fn optional(
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
pub(crate) const fn defaulted(
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
