//! One engine with one realm, for one run.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::object::Property;
use rquickjs::promise::PromiseState;
use rquickjs::{
    Array, BigInt, Context, Ctx, Exception, Function, Object, Persistent, Promise, Runtime, Value,
};

use super::console::Console;
use super::failure;
use super::link::Link;
use super::output::{Clock, Fault, Output, unwrapped};
use crate::error::Code;
use crate::wire::{self, Failed, Frame, Run, SAFE_INTEGER_MAX};
use crate::{Limits, LogLevel};

const PRELUDE: &str = include_str!("prelude.js");

/// Everything of the language, but no clock, no shared memory and no way to watch the garbage collector.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

pub(super) struct Realm {
    context: Context,
    prelude: Persistent<Function<'static>>,
    timer: Rc<Timer>,
    link: Rc<Link>,
    memory_bytes: usize,
    console_bytes: usize,
    // Last: everything above lives in it.
    _runtime: Runtime,
}

/// When the run is over, for the engine's own question "go on?".
#[derive(Default)]
struct Timer {
    deadline: Cell<Option<Instant>>,
    expired: Cell<bool>,
}

impl Timer {
    fn is_over(&self) -> bool {
        let over = self
            .deadline
            .get()
            .is_some_and(|deadline| Instant::now() > deadline);
        self.expired.set(self.expired.get() || over);
        over
    }
}

impl Realm {
    pub(super) fn new(limits: &Limits, link: &Rc<Link>) -> Result<Self, Failed> {
        Self::make(limits, link)
            .map_err(|error| failure::plain(Code::Crashed, format!("no engine: {error}")))
    }

    fn make(limits: &Limits, link: &Rc<Link>) -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(limits.memory_bytes);
        runtime.set_max_stack_size(limits.stack_bytes);
        let timer = Rc::new(Timer::default());
        let asked = Rc::clone(&timer);
        runtime.set_interrupt_handler(Some(Box::new(move || asked.is_over())));
        let context = Context::custom::<Language>(&runtime)?;
        let prelude = context.with(|ctx| {
            let function: Function<'_> = ctx.eval_with_options(PRELUDE, options("pawl"))?;
            rquickjs::Result::Ok(Persistent::save(&ctx, function))
        })?;
        Ok(Self {
            context,
            prelude,
            timer,
            link: Rc::clone(link),
            memory_bytes: limits.memory_bytes,
            console_bytes: limits.console_bytes,
            _runtime: runtime,
        })
    }

    /// Runs the source as the body of an async function; the result as JSON.
    pub(super) fn run(self, run: &Run<'_>, limits: &Limits) -> Result<String, Failed> {
        self.start_timer(run);
        let result = self.context.with(|ctx| {
            let is_array = self
                .install(&ctx, run)
                .map_err(|_| self.thrown(&ctx, run))?;
            let body = self.compile(&ctx, run)?;
            let promise: Promise<'_> = body.call(()).map_err(|_| self.thrown(&ctx, run))?;
            let value = self.settle(&ctx, &promise, run)?;
            self.output(&ctx, value, is_array, run, limits)
        });
        // What was thrown while the time ran out says nothing about the cause.
        match self.timer.expired.get() {
            true => Err(failure::timeout(run.time_ms)),
            false => result,
        }
    }

    pub(super) fn check(self, run: &Run<'_>) -> Result<(), Failed> {
        self.start_timer(run);
        self.context.with(|ctx| self.compile(&ctx, run).map(|_| ()))
    }

    fn start_timer(&self, run: &Run<'_>) {
        let time = Duration::from_millis(run.time_ms);
        self.timer.deadline.set(Instant::now().checked_add(time));
    }

    /// Puts our names into the realm. Returns `Array.isArray` as it was before user code.
    fn install<'js>(&self, ctx: &Ctx<'js>, run: &Run<'_>) -> rquickjs::Result<Function<'js>> {
        let link = Rc::clone(&self.link);
        let ask = Function::new(ctx.clone(), move |ctx: Ctx<'js>, path: String| {
            let frame = link.ask(&path).map_err(rquickjs::Error::Io)?;
            value_of(&ctx, frame)
        })?;
        let link = Rc::clone(&self.link);
        let console = Console::new(self.console_bytes);
        let write = Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, level: String, values: Object<'js>| {
                console.write(&ctx, &link, level_of(&level), &values)
            },
        )?;
        let prelude = self.prelude.clone().restore(ctx)?;
        let (high, low) = ((run.seed >> 32) as u32, run.seed as u32);
        prelude.call((ask, write, run.now_ms as f64, high, low))
    }

    /// The source as a function. It is data to us: nothing is put into it, and a wrapper line before it keeps its
    /// own lines whole.
    fn compile<'js>(&self, ctx: &Ctx<'js>, run: &Run<'_>) -> Result<Function<'js>, Failed> {
        if let Some(at) = run.source.find('\0') {
            let before = &run.source[..at];
            let line = before.matches('\n').count() + 1;
            let column = before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1;
            return Err(failure::syntax(
                "the code holds a NUL character; write it as \\0 inside a string".to_owned(),
                u32::try_from(line).unwrap_or(u32::MAX),
                u32::try_from(column).unwrap_or(u32::MAX),
            ));
        }
        let wrapped = format!("(async function () {{\n{}\n}})", run.source);
        match ctx.eval_with_options::<Value<'js>, _>(wrapped, options(failure::FILE)) {
            Ok(value) => value.into_function().ok_or_else(|| {
                failure::syntax("a `}` closes more than was opened".to_owned(), 1, 1)
            }),
            Err(_) => Err(self.uncompiled(ctx, run)),
        }
    }

    fn uncompiled(&self, ctx: &Ctx<'_>, run: &Run<'_>) -> Failed {
        let error = ctx.catch();
        let is_syntax = error.as_object().is_some_and(|error| {
            error
                .get::<_, String>("name")
                .is_ok_and(|name| name == "SyntaxError")
        });
        if self.timer.expired.get() {
            failure::timeout(run.time_ms)
        } else if is_syntax {
            failure::unparsable(ctx, &error, &run.source)
        } else {
            failure::thrown(ctx, error, &run.source, self.memory_bytes)
        }
    }

    /// Runs promise jobs until the result is there. Jobs left over then are dropped with the realm.
    fn settle<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        run: &Run<'_>,
    ) -> Result<Value<'js>, Failed> {
        while promise.state() == PromiseState::Pending {
            if self.timer.is_over() {
                return Err(failure::timeout(run.time_ms));
            }
            if !ctx.execute_pending_job() && promise.state() == PromiseState::Pending {
                return Err(failure::plain(
                    Code::Error,
                    "the code waits for a promise that nothing will settle; there are no timers and no network here",
                ));
            }
        }
        match promise.result::<Value<'js>>() {
            Some(Ok(value)) => Ok(value),
            _ => Err(self.thrown(ctx, run)),
        }
    }

    fn output<'js>(
        &self,
        ctx: &Ctx<'js>,
        value: Value<'js>,
        is_array: Function<'js>,
        run: &Run<'_>,
        limits: &Limits,
    ) -> Result<String, Failed> {
        let clock = Clock::until(self.timer.deadline.get());
        let mut output = Output::new(limits.output_bytes, limits.depth, clock).lists_by(is_array);
        let written = unwrapped(ctx, value).and_then(|value| output.write(ctx, value));
        match written {
            Ok(true) => Ok(output.into_text()),
            Ok(false) => Ok("null".to_owned()),
            Err(Fault::TimedOut) => Err(failure::timeout(run.time_ms)),
            Err(Fault::Refused(why)) => Err(failure::plain(
                Code::Output,
                format!("the result{} is {why}", output.place()),
            )),
            Err(Fault::Thrown) => Err(self.thrown(ctx, run)),
        }
    }

    fn thrown(&self, ctx: &Ctx<'_>, run: &Run<'_>) -> Failed {
        failure::thrown(ctx, ctx.catch(), &run.source, self.memory_bytes)
    }
}

fn options(file: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    // As in n8n; who wants it strict writes 'use strict' first.
    options.strict = false;
    options.filename = Some(file.to_owned());
    options
}

fn level_of(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "warn" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    }
}

fn value_of<'js>(ctx: &Ctx<'js>, frame: Frame) -> rquickjs::Result<Value<'js>> {
    let made = if frame.kind == wire::VALUE {
        ctx.json_parse(frame.body)
    } else {
        let value = serde_json::from_slice(&frame.body)
            .map_err(|error| rquickjs::Error::Io(error.into()))?;
        exact(ctx, &value)
    };
    made.map_err(|_| out_of_memory(ctx))
}

/// The only way in which making a value can fail. The engine may have had no memory to say so, but what it made so
/// far is free again now.
fn out_of_memory(ctx: &Ctx<'_>) -> rquickjs::Error {
    ctx.catch();
    Exception::throw_internal(ctx, "out of memory")
}

/// Like parsing JSON, with integers beyond 2^53 as BigInt.
fn exact<'js>(ctx: &Ctx<'js>, value: &serde_json::Value) -> rquickjs::Result<Value<'js>> {
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
            _ => ctx.json_parse(number.to_string()),
        },
        plain => ctx.json_parse(plain.to_string()),
    }
}
