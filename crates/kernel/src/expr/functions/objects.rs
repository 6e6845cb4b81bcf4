//! Functions over objects.

use super::*;

pub(super) const TABLE: &[Row] = &[
    (
        "keys(object)",
        "The keys, in their order.",
        "keys({a: 1, b: 2})",
        r#"["a","b"]"#,
        Body::Eager(|call| collected(call, |key, _| Ok(Val::Text(key)))),
    ),
    (
        "values(object)",
        "The values, in their order.",
        "values({a: 1, b: 2})",
        "[1,2]",
        Body::Eager(|call| collected(call, |_, value| Ok(value))),
    ),
    (
        "entries(object)",
        "A list of objects with `key` and `value`.",
        "entries({a: 1})",
        r#"[{"key":"a","value":1}]"#,
        Body::Eager(entries),
    ),
    (
        "from_entries(list)",
        "An object from objects with `key` and `value`, or from pairs.",
        "from_entries([['a', 1], {key: 'b', value: 2}])",
        r#"{"a":1,"b":2}"#,
        Body::Eager(from_entries),
    ),
    (
        "merge(object, others...)",
        "All entries in one object; the last value given for a key wins.",
        "merge({a: 1, b: 1}, {b: 2})",
        r#"{"a":1,"b":2}"#,
        Body::Eager(merge),
    ),
    (
        "pick(object, keys)",
        "Only the entries with these keys, as far as they exist.",
        "pick({a: 1, b: 2}, ['a', 'x'])",
        r#"{"a":1}"#,
        Body::Eager(|call| selected(call, true)),
    ),
    (
        "omit(object, keys)",
        "Without the entries with these keys.",
        "omit({a: 1, b: 2}, ['a'])",
        r#"{"b":2}"#,
        Body::Eager(|call| selected(call, false)),
    ),
    (
        "has(object, key)",
        "Whether the object has the key.",
        "has({a: null}, 'a')",
        "true",
        Body::Eager(has),
    ),
    (
        "get(value, path, otherwise?)",
        "The value at a path known only at run time, such as `a.b[0]`.",
        "get({a: [{b: 1}]}, 'a[0].b')",
        "1",
        Body::Eager(get),
    ),
];

fn collected<'a>(
    call: &mut Call<'_, 'a>,
    choose: fn(Text<'a>, Val<'a>) -> EvalResult<'a>,
) -> EvalResult<'a> {
    let object = call.object(0)?;
    call.step(object.len())?;
    let items = object.iter().map(|(key, value)| choose(key, value));
    let items = items.collect::<Result<_, _>>()?;
    call.build_list(items)
}

fn entries<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let mut items = Vec::new();
    for (key, value) in call.object(0)?.iter() {
        call.step(1)?;
        let mut entry = BuiltObject::default();
        entry.insert(Text::Borrowed("key"), Val::Text(key));
        entry.insert(Text::Borrowed("value"), value);
        items.push(call.build_object(entry)?);
    }
    call.build_list(items)
}

fn from_entries<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let mut object = BuiltObject::default();
    for entry in call.list(0)?.iter() {
        call.step(1)?;
        let (key, value) = match &entry {
            Val::List(_) => (entry.element(0), entry.element(1)),
            _ => (entry.member("key"), entry.member("value")),
        };
        match (key, value) {
            (Some(Val::Text(key)), Some(value)) => {
                call.scan(key.len())?;
                object.insert(key, value);
            }
            _ => return Err(call.wrong_type(0, "a list of keys with values")),
        }
    }
    call.build_object(object)
}

fn merge<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let mut merged = BuiltObject::default();
    for position in 0..call.count() {
        let object = call.object(position)?;
        call.step(object.len())?;
        for (key, value) in object.iter() {
            call.scan(key.len())?;
            merged.insert(key, value);
        }
    }
    call.build_object(merged)
}

fn selected<'a>(call: &mut Call<'_, 'a>, listed: bool) -> EvalResult<'a> {
    let (object, keys) = (call.object(0)?, call.list(1)?);
    let mut names = std::collections::HashSet::new();
    for key in keys.iter() {
        call.step(1)?;
        match key {
            Val::Text(name) => {
                call.scan(name.len())?;
                names.insert(name)
            }
            _ => return Err(call.wrong_type(1, "a list of strings")),
        };
    }
    call.step(object.len())?;
    let mut chosen = BuiltObject::default();
    for (key, value) in object.iter() {
        call.scan(key.len())?;
        if names.contains(&*key) == listed {
            chosen.insert(key, value);
        }
    }
    call.build_object(chosen)
}

fn has<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (object, key) = (call.object(0)?, call.text(1)?);
    call.scan(key.len())?;
    Ok(Val::Bool(object.get(&key).is_some()))
}

fn get<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (mut value, path) = (call.value(0), call.text(1)?);
    // It is looked at letter by letter, and an honest path is short.
    call.step(path.len() / 8)?;
    // Brackets are another way to write a dot here: `a[0].b` is `a.0.b`.
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    for part in parts {
        call.step(1)?;
        let index = || part.parse().ok().and_then(|index| value.element(index));
        value = match value.member(part).or_else(index) {
            Some(next) => next,
            None if call.has(2) => return Ok(call.value(2)),
            None => return Err(nothing_at_path(call)),
        };
    }
    Ok(value)
}

fn nothing_at_path(call: &Call<'_, '_>) -> ExprError {
    use super::super::error::ErrorCode;
    let message = "`get`: the path leads nowhere";
    ExprError::new(ErrorCode::UndefinedPath, message, call.span_of(1))
        .with_hint("a third argument is given where nothing is found")
}
