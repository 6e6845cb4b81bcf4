//! Functions over values of every type.

use sha2::{Digest, Sha256};

use super::*;
use crate::digest::hex;

pub(super) const TABLE: &[Row] = &[
    (
        "default(value, otherwise)",
        "`otherwise` where the value is null or its path is missing.",
        "default(null, 1)",
        "1",
        Body::Default,
    ),
    (
        "coalesce(values...)",
        "The first value that is neither null nor missing, else null.",
        "coalesce(null, 'a', 'b')",
        r#""a""#,
        Body::Coalesce,
    ),
    (
        "exists(path)",
        "Whether the path leads to a value; null counts as a value.",
        "exists(no.such.path)",
        "false",
        Body::Exists,
    ),
    (
        "type(value)",
        "null, boolean, number, decimal, string, list or object.",
        "type([1])",
        r#""list""#,
        Body::Eager(|call| Ok(Val::borrowed(call.value(0).type_name()))),
    ),
    (
        "len(value)",
        "Characters of a string, elements of a list, entries of an object.",
        "len('abc')",
        "3",
        Body::Eager(len),
    ),
    (
        "contains(value, part)",
        "Whether a string has the part, a list the element, or an object the key.",
        "contains([1, 2], 2)",
        "true",
        Body::Eager(contains),
    ),
    (
        "string(value)",
        "Text as it is, everything else as compact JSON.",
        "string([1, null])",
        r#""[1,null]""#,
        Body::Eager(string),
    ),
    (
        "raw(value)",
        "The value itself; as the last pipe in a URL it is not percent-encoded.",
        "raw('a/b')",
        r#""a/b""#,
        Body::Eager(|call| Ok(call.value(0))),
    ),
    (
        "uuid()",
        "A UUID that is the same when the same position runs again.",
        "len(uuid())",
        "36",
        Body::Eager(uuid),
    ),
];

fn len<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    match call.value(0) {
        Val::Text(text) => {
            call.scan(text.len())?;
            Ok(Val::count(text.chars().count()))
        }
        Val::List(list) => Ok(Val::count(list.len())),
        Val::Object(object) => Ok(Val::count(object.len())),
        _ => Err(call.wrong_type(0, "a string, list or object")),
    }
}

fn contains<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (whole, part, span) = (call.value(0), call.value(1), call.span);
    call.evaluator.is_in(&part, &whole, span).map(Val::Bool)
}

fn string<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (value, span) = (call.value(0), call.span);
    call.evaluator.text_of(&value, span).map(Val::Text)
}

/// Version 8, the version for identifiers with a meaning of their own: here a hash.
fn uuid<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    call.allocate(36)?;
    let number = call.evaluator.meter.next_uuid_call();
    let scope = call.evaluator.scope;
    // The id comes last, because it is the only part whose length varies.
    let hash = Sha256::new()
        .chain_update(b"pawl uuid")
        .chain_update(scope.seq.to_be_bytes())
        .chain_update(number.to_be_bytes())
        .chain_update(scope.execution_id)
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let groups = [
        &bytes[..4],
        &bytes[4..6],
        &bytes[6..8],
        &bytes[8..10],
        &bytes[10..],
    ];
    Ok(new_text(groups.map(hex).join("-")))
}
