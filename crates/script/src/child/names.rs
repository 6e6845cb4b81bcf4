//! The names that user code finds in its realm. Reading JavaScript costs more than making a realm does, so each name
//! is an accessor until it is touched, and only then made: by a small script under `js/`, by a function of ours, or
//! out of data that the parent is asked for.
//!
//! Those scripts may run after user code has replaced built-ins. They get theirs from `kept`, an object filled
//! before, and use no syntax that calls replaceable methods: no spread, no for-of, no array methods.
//!
//! Functions here hold no values of the engine: it could not see them, and would take what they hold for leaked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rquickjs::function::This;
use rquickjs::object::{Filter, Property};
use rquickjs::{
    Array, Atom, BigInt, Coerced, Ctx, Exception, Function, IntoJs, Object, Result, Value,
};

use super::console::Console;
use super::link::Link;
use super::realm::evaluate;
use crate::LogLevel;
use crate::data::ROOTS;
use crate::wire::{self, Frame, ReplyFrame, SAFE_INTEGER_MAX};

const CORE: &str = include_str!("js/core.js");
const ITEMS: &str = include_str!("js/items.js");
const NODE: &str = include_str!("js/node.js");
const NODES: &str = include_str!("js/nodes.js");
const LARGE: &str = include_str!("js/large.js");
const DATE: &str = include_str!("js/date.js");
const NOW: &str = include_str!("js/now.js");
const CONSOLE: &str = include_str!("js/console.js");

/// Beside the roots of the context.
const OWN: [&str; 8] = [
    "$input",
    "$json",
    "$",
    "$node",
    "$execution",
    "$now",
    "Date",
    "console",
];

/// What the functions of a realm share; the job is filled in when it comes.
pub(super) struct ScriptRun {
    pub(super) link: Rc<Link>,
    pub(super) console: Console,
    pub(super) now_ms: Cell<f64>,
    pub(super) random: Cell<u64>,
    pub(super) given: RefCell<Vec<ReplyFrame>>,
}

/// Puts the names into the realm; returns `kept`.
pub(super) fn install<'js>(ctx: &Ctx<'js>, job: &Rc<ScriptRun>) -> Result<Object<'js>> {
    let globals = ctx.globals();
    // Memory beyond the limit of the heap, and a way to wait without being asked whether to go on.
    globals.remove("SharedArrayBuffer")?;
    globals.remove("Atomics")?;
    let asked = Rc::clone(job);
    let part = Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, name: String, kept: Object<'js>| make(&ctx, &asked, &name, &kept),
    )?;
    let names: Vec<&str> = OWN.into_iter().chain(ROOTS).collect();
    let core: Function<'js> = evaluate(ctx, CORE)?;
    let random = Rc::clone(job);
    let random = Function::new(ctx.clone(), move || next_random(&random.random))?;
    hide(&globals.get("Math")?, "random", random)?;
    let digits = Function::new(ctx.clone(), |this: This<Coerced<String>>| this.0.0)?;
    let big_int: Object<'js> = globals.get("BigInt")?;
    hide(&big_int.get("prototype")?, "toJSON", digits)?;
    core.call((part, names))
}

fn hide<'js>(target: &Object<'js>, name: &str, function: Function<'js>) -> Result<()> {
    target.prop(name, Property::from(function).writable().configurable())
}

/// splitmix64: small, and good enough for everything but secrets.
fn next_random(state: &Cell<u64>) -> f64 {
    let step = state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    state.set(step);
    let mut mixed = (step ^ (step >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// The value of a name, when it is touched.
fn make<'js>(
    ctx: &Ctx<'js>,
    job: &Rc<ScriptRun>,
    name: &str,
    kept: &Object<'js>,
) -> Result<Value<'js>> {
    match name {
        "$json" => input(ctx, job, kept),
        "$input" => {
            let json = input(ctx, job, kept)?;
            script::<Function<'js>>(ctx, job, kept, "items")?.call((json,))
        }
        "$" => script(ctx, job, kept, "node"),
        "$node" => script(ctx, job, kept, "nodes"),
        "$execution" => load(ctx, job, kept, r#""context","execution""#, true),
        "$now" => script(ctx, job, kept, "now"),
        "Date" => script(ctx, job, kept, "date"),
        "console" => script(ctx, job, kept, "console"),
        root => load(ctx, job, kept, &format!(r#""context","{root}""#), true),
    }
}

/// One object, whether it was asked for as `$json` or as `$input.item.json`.
fn input<'js>(ctx: &Ctx<'js>, job: &Rc<ScriptRun>, kept: &Object<'js>) -> Result<Value<'js>> {
    if kept.contains_key("input")? {
        return kept.get("input");
    }
    let mut value = load(ctx, job, kept, r#""input""#, false)?;
    if value.is_undefined() {
        value = Value::new_null(ctx.clone());
    }
    kept.set("input", value.clone())?;
    Ok(value)
}

/// What a script of ours makes, once per realm, with what it needs from `kept`.
fn script<'js, V: rquickjs::FromJs<'js>>(
    ctx: &Ctx<'js>,
    job: &Rc<ScriptRun>,
    kept: &Object<'js>,
    name: &str,
) -> Result<V> {
    if kept.contains_key(name)? {
        return kept.get(name);
    }
    let source = match name {
        "items" => ITEMS,
        "node" => {
            keep_loader(ctx, job, kept)?;
            script::<Value<'js>>(ctx, job, kept, "items")?;
            NODE
        }
        "nodes" => {
            script::<Value<'js>>(ctx, job, kept, "node")?;
            NODES
        }
        "large" => {
            keep_loader(ctx, job, kept)?;
            LARGE
        }
        "console" => {
            kept.set("write", writer(ctx, job)?)?;
            CONSOLE
        }
        "date" => {
            kept.set("entered", job.now_ms.get())?;
            DATE
        }
        _ => {
            script::<Value<'js>>(ctx, job, kept, "date")?;
            NOW
        }
    };
    let made: Value<'js> = evaluate(ctx, source)?.call((kept.clone(),))?;
    kept.set(name, made)?;
    kept.get(name)
}

fn keep_loader<'js>(ctx: &Ctx<'js>, job: &Rc<ScriptRun>, kept: &Object<'js>) -> Result<()> {
    if kept.contains_key("load")? {
        return Ok(());
    }
    let asked = Rc::clone(job);
    // `kept` is what holds this function, so it is asked for instead of held.
    let load = Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, kept: Object<'js>, path: String, frozen: bool| {
            load(&ctx, &asked, &kept, &path, frozen)
        },
    )?;
    let bind: Function<'js> = evaluate(
        ctx,
        "(function (load, kept) { 'use strict'; return function (path, frozen) { return load(kept, path, frozen); }; })",
    )?;
    kept.set("load", bind.call::<_, Value<'js>>((load, kept.clone()))?)
}

fn writer<'js>(ctx: &Ctx<'js>, job: &Rc<ScriptRun>) -> Result<Function<'js>> {
    let job = Rc::clone(job);
    Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, level: String, values: Object<'js>| {
            job.console
                .write(&ctx, &job.link, level_of(&level), &values)
        },
    )
}

fn level_of(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "warn" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    }
}

/// Data from the parent: what came with the job, or what it answers.
fn load<'js>(
    ctx: &Ctx<'js>,
    job: &Rc<ScriptRun>,
    kept: &Object<'js>,
    path: &str,
    frozen: bool,
) -> Result<Value<'js>> {
    let path_text = format!("[{path}]");
    let given = job
        .given
        .borrow()
        .iter()
        .find(|given| given.path == path_text)
        .map(|given| given.reply.get().as_bytes().to_vec());
    let frame = match given {
        Some(body) => Frame {
            kind: wire::VALUE,
            body,
        },
        None => job.link.ask(&path_text).map_err(rquickjs::Error::Io)?,
    };
    let reply = value_of(ctx, frame)?;
    match reply.get::<u32>(0)? {
        0 => Ok(Value::new_undefined(ctx.clone())),
        1 => {
            let value: Value<'js> = reply.get(1)?;
            if frozen {
                freeze_all(&value, &kept.get("freeze")?)?;
            }
            Ok(value)
        }
        _ => {
            let members: Value<'js> = reply.get(1)?;
            if frozen {
                freeze_all(&members, &kept.get("freeze")?)?;
            }
            script::<Function<'js>>(ctx, job, kept, "large")?.call((members, path, frozen))
        }
    }
}

fn freeze_all<'js>(value: &Value<'js>, freeze: &Function<'js>) -> Result<()> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for name in object.own_keys::<Atom<'js>>(Filter::new().string()) {
        freeze_all(&object.get(name?)?, freeze)?;
    }
    freeze.call((object.clone(),))
}

fn value_of<'js>(ctx: &Ctx<'js>, frame: Frame) -> Result<Array<'js>> {
    let made = if frame.kind == wire::VALUE {
        ctx.json_parse(frame.body)
    } else {
        let value = serde_json::from_slice(&frame.body)
            .map_err(|error| rquickjs::Error::Io(error.into()))?;
        exact(ctx, &value)
    };
    let value = made.map_err(|_| out_of_memory(ctx))?;
    value.into_array().ok_or_else(|| out_of_memory(ctx))
}

/// The only way in which making a value can fail. The engine may have had no memory to say so, but what it made so
/// far is free again now.
fn out_of_memory(ctx: &Ctx<'_>) -> rquickjs::Error {
    ctx.catch();
    Exception::throw_internal(ctx, "out of memory")
}

/// Like parsing JSON, with integers beyond 2^53 as BigInt.
fn exact<'js>(ctx: &Ctx<'js>, value: &serde_json::Value) -> Result<Value<'js>> {
    use serde_json::Value as Json;
    match value {
        Json::Array(items) => {
            let list = Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                list.set(index, exact(ctx, item)?)?;
            }
            Ok(list.into_value())
        }
        Json::Object(fields) => {
            let object = Object::new(ctx.clone())?;
            for (name, item) in fields {
                // Defined, not assigned: `__proto__` is a name like any other.
                let property = Property::from(exact(ctx, item)?)
                    .writable()
                    .enumerable()
                    .configurable();
                object.prop(name.as_str(), property)?;
            }
            Ok(object.into_value())
        }
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(small), _) if small.unsigned_abs() > SAFE_INTEGER_MAX => {
                Ok(BigInt::from_i64(ctx.clone(), small)?.into_value())
            }
            (None, Some(large)) => Ok(BigInt::from_u64(ctx.clone(), large)?.into_value()),
            _ => number.as_f64().into_js(ctx),
        },
        Json::String(text) => text.as_str().into_js(ctx),
        Json::Bool(truth) => truth.into_js(ctx),
        Json::Null => Ok(Value::new_null(ctx.clone())),
    }
}
