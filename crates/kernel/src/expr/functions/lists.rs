//! Functions over lists.

use std::collections::HashSet;

use super::super::ast::ArithmeticOp;
use super::super::eval::VALUE_BYTES;
use super::sorting::merge_sort;
use super::*;

pub(super) const TABLE: &[Row] = &[
    (
        "first(list)",
        "The first element, or null.",
        "first([1, 2])",
        "1",
        Body::Eager(|call| Ok(call.list(0)?.get(0).unwrap_or(Val::Null))),
    ),
    (
        "last(list)",
        "The last element, or null.",
        "last([1, 2])",
        "2",
        Body::Eager(|call| Ok(call.list(0)?.iter().next_back().unwrap_or(Val::Null))),
    ),
    (
        "map(list, item => value)",
        "What the function makes of each element.",
        "map([1, 2], x => x * 10)",
        "[10,20]",
        Body::Eager(map),
    ),
    (
        "filter(list, item => condition)",
        "The elements for which the condition holds.",
        "filter([1, 5, 9], x => x > 3)",
        "[5,9]",
        Body::Eager(filter),
    ),
    (
        "find(list, item => condition)",
        "The first element for which the condition holds, or null.",
        "find([1, 5, 9], x => x > 3)",
        "5",
        Body::Eager(|call| Ok(first_where(call, true)?.unwrap_or(Val::Null))),
    ),
    (
        "any(list, item => condition)",
        "Whether the condition holds for at least one element.",
        "any([1, 5], x => x > 3)",
        "true",
        Body::Eager(|call| Ok(Val::Bool(first_where(call, true)?.is_some()))),
    ),
    (
        "all(list, item => condition)",
        "Whether the condition holds for every element.",
        "all([1, 5], x => x > 3)",
        "false",
        Body::Eager(|call| Ok(Val::Bool(first_where(call, false)?.is_none()))),
    ),
    (
        "reduce(list, start, (result, item) => value)",
        "The elements folded into one result, from the first to the last.",
        "reduce([1, 2, 3], 0, (sum, x) => sum + x)",
        "6",
        Body::Eager(reduce),
    ),
    (
        "sum(list)",
        "The sum of the numbers; 0 for an empty list.",
        "sum([1, 2, 3])",
        "6",
        Body::Eager(|call| {
            let list = call.list(0)?;
            sum(call, &list)
        }),
    ),
    (
        "avg(list)",
        "The average of the numbers.",
        "avg([1, 2])",
        "1.5",
        Body::Eager(avg),
    ),
    (
        "min(list_or_values...)",
        "The smallest number or string, of a list or of the arguments.",
        "min([3, 1, 2])",
        "1",
        Body::Eager(|call| extreme(call, std::cmp::Ordering::Less)),
    ),
    (
        "max(list_or_values...)",
        "The largest number or string, of a list or of the arguments.",
        "max(3, 1, 2)",
        "3",
        Body::Eager(|call| extreme(call, std::cmp::Ordering::Greater)),
    ),
    (
        "sort(list)",
        "In ascending order; all numbers or all strings.",
        "sort([3, 1, 2])",
        "[1,2,3]",
        Body::Eager(sort),
    ),
    (
        "sort_by(list, item => key)",
        "In ascending order of the keys; equal keys keep their order.",
        "sort_by([{n: 2}, {n: 1}], x => x.n)",
        r#"[{"n":1},{"n":2}]"#,
        Body::Eager(sort_by),
    ),
    (
        "reverse(list)",
        "From the last to the first.",
        "reverse([1, 2])",
        "[2,1]",
        Body::Eager(reverse),
    ),
    (
        "unique(list)",
        "Each value once, where it came first.",
        "unique([1, 2, 1.0])",
        "[1,2]",
        Body::Eager(unique),
    ),
    (
        "flatten(list)",
        "Lists inside the list replaced by their elements, one level deep.",
        "flatten([1, [2, [3]]])",
        "[1,2,[3]]",
        Body::Eager(flatten),
    ),
    (
        "slice(list, start, end?)",
        "From `start` up to but without `end`; negative positions count from the end.",
        "slice([1, 2, 3, 4], 1, -1)",
        "[2,3]",
        Body::Eager(slice),
    ),
    (
        "range(start, end?, step?)",
        "The integers from `start` up to but without `end`; with one argument from 0.",
        "range(1, 6, 2)",
        "[1,3,5]",
        Body::Eager(range),
    ),
    (
        "group_by(list, item => key)",
        "An object with a list of elements for each key.",
        "group_by([1, 2, 3], x => x % 2 == 0 ? 'even' : 'odd')",
        r#"{"odd":[1,3],"even":[2]}"#,
        Body::Eager(group_by),
    ),
    (
        "index_of(list, value)",
        "The position of the value, or -1.",
        "index_of(['a', 'b'], 'b')",
        "1",
        Body::Eager(index_of),
    ),
    (
        "zip(left, right)",
        "Pairs of the elements at the same position, as long as both have one.",
        "zip([1, 2], ['a', 'b'])",
        r#"[[1,"a"],[2,"b"]]"#,
        Body::Eager(zip),
    ),
    (
        "chunk(list, size)",
        "Lists of so many elements; the last may be shorter.",
        "chunk([1, 2, 3], 2)",
        "[[1,2],[3]]",
        Body::Eager(chunk),
    ),
];

fn map<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    let mut mapped = Vec::new();
    for (position, item) in list.iter().enumerate() {
        mapped.push(call.apply(1, &[item, Val::count(position)])?);
    }
    call.build_list(mapped)
}

fn filter<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    let mut kept = Vec::new();
    for (position, item) in list.iter().enumerate() {
        if call.test(1, &[item.clone(), Val::count(position)])? {
            kept.push(item);
        }
    }
    call.build_list(kept)
}

fn first_where<'a>(call: &mut Call<'_, 'a>, wanted: bool) -> Result<Option<Val<'a>>, ExprError> {
    let list = call.list(0)?;
    for (position, item) in list.iter().enumerate() {
        if call.test(1, &[item.clone(), Val::count(position)])? == wanted {
            return Ok(Some(item));
        }
    }
    Ok(None)
}

fn reduce<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, mut result) = (call.list(0)?, call.value(1));
    for (position, item) in list.iter().enumerate() {
        result = call.apply(2, &[result, item, Val::count(position)])?;
    }
    Ok(result)
}

fn sum<'a>(call: &mut Call<'_, 'a>, list: &List<'a>) -> EvalResult<'a> {
    let mut total = Number::Int(0);
    for item in list.iter() {
        call.step(1)?;
        let Val::Number(number) = item else {
            return Err(call.wrong_type(0, "a list of numbers"));
        };
        let added = total.calculate(ArithmeticOp::Add, number);
        total = added.map_err(|fault| call.math(fault))?;
    }
    Ok(Val::Number(total))
}

fn avg<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    if list.len() == 0 {
        return Err(call.math("an empty list has no average"));
    }
    let total = sum(call, &list)?;
    let span = call.span;
    let count = Val::count(list.len());
    call.evaluator
        .calculate(ArithmeticOp::Divide, total, count, span)
}

fn extreme<'a>(call: &mut Call<'_, 'a>, wanted: std::cmp::Ordering) -> EvalResult<'a> {
    let list = match call.values {
        [Val::List(list)] => list.clone(),
        values => List::build(values.to_vec()),
    };
    let span = call.span;
    let mut items = list.iter();
    let Some(mut best) = items.next() else {
        return Err(call.math("there is nothing to choose from"));
    };
    // A single value has to be comparable too.
    call.evaluator.order(&best, &best, span)?;
    for item in items {
        call.step(1)?;
        if call.evaluator.order(&item, &best, span)? == wanted {
            best = item;
        }
    }
    Ok(best)
}

fn sort<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    let keyed = list.iter().map(|item| (item.clone(), item)).collect();
    sort_keyed(call, keyed)
}

fn sort_by<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    let mut keyed = Vec::new();
    for (position, item) in list.iter().enumerate() {
        let key = call.apply(1, &[item.clone(), Val::count(position)])?;
        keyed.push((key, item));
    }
    sort_keyed(call, keyed)
}

fn sort_keyed<'a>(call: &mut Call<'_, 'a>, keyed: Vec<(Val<'a>, Val<'a>)>) -> EvalResult<'a> {
    call.allocate(keyed.len() * 2 * VALUE_BYTES)?;
    let span = call.span;
    let sorted = merge_sort(keyed, |(left, _), (right, _)| {
        call.step(1)?;
        call.evaluator.order(left, right, span)
    })?;
    call.build_list(sorted.into_iter().map(|(_, item)| item).collect())
}

fn reverse<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    call.step(list.len())?;
    call.build_list(list.iter().rev().collect())
}

fn unique<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, span) = (call.list(0)?, call.span);
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for item in list.iter() {
        if seen.insert(call.evaluator.canonical(&item, span)?) {
            kept.push(item);
        }
    }
    call.build_list(kept)
}

fn flatten<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    let mut flat = Vec::new();
    for item in list.iter() {
        match item {
            Val::List(inner) => {
                call.step(inner.len() + 1)?;
                flat.extend(inner.iter());
            }
            other => {
                call.step(1)?;
                flat.push(other);
            }
        }
    }
    call.build_list(flat)
}

fn slice<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, start) = (call.list(0)?, call.int(1)?);
    let end = call.has(2).then(|| call.int(2)).transpose()?;
    let range = clamped_range(start, end, list.len());
    call.step(range.len())?;
    call.build_list(range.filter_map(|position| list.get(position)).collect())
}

fn range<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (start, end) = match call.has(1) {
        true => (call.int(0)?, call.int(1)?),
        false => (0, call.int(0)?),
    };
    let step = call.int_or(2, 1)?;
    if step == 0 {
        return Err(call.math("the step is 0"));
    }
    let distance = (i128::from(end) - i128::from(start)) * i128::from(step.signum());
    let width = i128::from(step.unsigned_abs());
    let count = (distance.max(0) + width - 1) / width;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    call.step(count)?;
    call.allocate(count.saturating_mul(VALUE_BYTES))?;
    // Every element lies between start and end, so the additions cannot overflow.
    let elements = (0..count as i64).map(|at| Val::int(start.wrapping_add(at.wrapping_mul(step))));
    call.build_list(elements.collect())
}

fn group_by<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let list = call.list(0)?;
    // The object maps a key to the place of its group, so that groups grow where they stand.
    let mut places = BuiltObject::default();
    let mut groups: Vec<(Text<'a>, Vec<Val<'a>>)> = Vec::new();
    for (position, item) in list.iter().enumerate() {
        let key = call.apply(1, &[item.clone(), Val::count(position)])?;
        let key = group_key(call, &key)?;
        call.scan(key.len())?;
        match places
            .position(&key)
            .and_then(|place| groups.get_mut(place))
        {
            Some((_, group)) => group.push(item),
            None => {
                // A group costs two tables a place each, and a list of its own.
                call.step(2)?;
                places.insert(key.clone(), Val::Null);
                groups.push((key, vec![item]));
            }
        }
    }
    let mut object = BuiltObject::default();
    for (key, group) in groups {
        object.insert(key, call.build_list(group)?);
    }
    call.build_object(object)
}

fn group_key<'a>(call: &mut Call<'_, 'a>, key: &Val<'a>) -> Result<Text<'a>, ExprError> {
    let span = call.span_of(1);
    match key {
        Val::Text(_) | Val::Number(_) | Val::Bool(_) => call.evaluator.text_of(key, span),
        other => {
            let found = other.type_name();
            let message = format!("`group_by` needs a string, number or boolean, not {found}");
            Err(ExprError::types(message, span))
        }
    }
}

fn index_of<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, value, span) = (call.list(0)?, call.value(1), call.span);
    let position = call.evaluator.position_in(&value, &list, span)?;
    Ok(position.map_or(Val::int(-1), Val::count))
}

fn zip<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (left, right) = (call.list(0)?, call.list(1)?);
    let mut pairs = Vec::new();
    for (left, right) in left.iter().zip(right.iter()) {
        call.step(1)?;
        pairs.push(call.build_list(vec![left, right])?);
    }
    call.build_list(pairs)
}

fn chunk<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (list, size) = (call.list(0)?, call.size(1)?);
    if size == 0 {
        return Err(call.math("the size of a chunk is 0"));
    }
    call.step(list.len())?;
    let items: Vec<Val<'a>> = list.iter().collect();
    let mut chunks = Vec::new();
    for chunk in items.chunks(size) {
        chunks.push(call.build_list(chunk.to_vec())?);
    }
    call.build_list(chunks)
}
