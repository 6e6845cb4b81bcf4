//! One engine with one realm, for one run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Function, Object, Persistent, Promise, Runtime, Value};

use super::console::Console;
use super::failure;
use super::link::Link;
use super::names::{self, ScriptRun};
use super::output::{Clock, Fault, Output, unwrapped};
use crate::Limits;
use crate::error::Code;
use crate::wire::{FailureFrame, Run};

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
    kept: Persistent<Object<'static>>,
    timer: Rc<Timer>,
    job: Rc<ScriptRun>,
    memory_bytes: usize,
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
    pub(super) fn new(limits: &Limits, link: &Rc<Link>) -> Result<Self, FailureFrame> {
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
        let job = Rc::new(ScriptRun {
            link: Rc::clone(link),
            console: Console::new(limits.console_bytes),
            now_ms: Cell::new(0.0),
            random: Cell::new(0),
            given: RefCell::default(),
        });
        let kept = context
            .with(|ctx| names::install(&ctx, &job).map(|kept| Persistent::save(&ctx, kept)))?;
        Ok(Self {
            context,
            kept,
            timer,
            job,
            memory_bytes: limits.memory_bytes,
            _runtime: runtime,
        })
    }

    /// Runs the source as the body of an async function; the result as JSON.
    pub(super) fn run(&self, mut run: Run<'_>, limits: &Limits) -> Result<String, FailureFrame> {
        self.start_timer(&run);
        self.job.now_ms.set(run.now_ms as f64);
        self.job.random.set(run.seed);
        self.job.given.replace(std::mem::take(&mut run.given));
        let run = &run;
        let result = self.context.with(|ctx| {
            let value = self.call(&ctx, run)?;
            self.output(&ctx, value, run, limits)
        });
        // What was thrown while the time ran out says nothing about the cause.
        match self.timer.expired.get() {
            true => Err(failure::timeout(run.time_ms)),
            false => result,
        }
    }

    fn start_timer(&self, run: &Run<'_>) {
        let time = Duration::from_millis(run.time_ms);
        self.timer.deadline.set(Instant::now().checked_add(time));
    }

    /// The source as a function, called. It is data to us: nothing is put into it, and a wrapper line before it
    /// keeps its own lines whole.
    fn call<'js>(&self, ctx: &Ctx<'js>, run: &Run<'_>) -> Result<Value<'js>, FailureFrame> {
        refuse_nul(&run.source)?;
        let wrapped = format!("(async function () {{\n{}\n}})", run.source);
        let body: Value<'js> = ctx
            .eval_with_options(wrapped, options(failure::FILE))
            .map_err(|_| self.unreadable(ctx, ctx.catch(), run))?;
        let body = body.into_function().ok_or_else(failure::unbalanced)?;
        let result: Value<'js> = body.call(()).map_err(|_| self.thrown(ctx, run))?;
        let promise = result.into_promise().ok_or_else(failure::unbalanced)?;
        self.settle(ctx, &promise, run)
    }

    fn unreadable<'js>(&self, ctx: &Ctx<'js>, error: Value<'js>, run: &Run<'_>) -> FailureFrame {
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
    ) -> Result<Value<'js>, FailureFrame> {
        while promise.state() == PromiseState::Pending {
            if self.timer.is_over() {
                return Err(failure::timeout(run.time_ms));
            }
            if !ctx.execute_pending_job() && promise.state() == PromiseState::Pending {
                return Err(failure::unsettled());
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
        run: &Run<'_>,
        limits: &Limits,
    ) -> Result<String, FailureFrame> {
        let is_array = self
            .kept
            .clone()
            .restore(ctx)
            .and_then(|kept| kept.get("isArray"))
            .map_err(|_| self.thrown(ctx, run))?;
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

    fn thrown(&self, ctx: &Ctx<'_>, run: &Run<'_>) -> FailureFrame {
        failure::thrown(ctx, ctx.catch(), &run.source, self.memory_bytes)
    }
}

/// The engine takes text that ends at a NUL.
fn refuse_nul(source: &str) -> Result<(), FailureFrame> {
    let Some(at) = source.find('\0') else {
        return Ok(());
    };
    let lines: Vec<&str> = source[..at].split('\n').collect();
    let column = lines.last().map_or(0, |line| line.chars().count()) + 1;
    Err(failure::syntax(
        "the code holds a NUL character; write it as \\0 inside a string".to_owned(),
        u32::try_from(lines.len()).unwrap_or(u32::MAX),
        u32::try_from(column).unwrap_or(u32::MAX),
    ))
}

fn options(file: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    // As in n8n; who wants it strict writes 'use strict' first.
    options.strict = false;
    options.filename = Some(file.to_owned());
    options
}

/// A script of ours, which is one function.
pub(super) fn evaluate<'js>(ctx: &Ctx<'js>, source: &str) -> rquickjs::Result<Function<'js>> {
    ctx.eval_with_options(source, options("pawl"))
}
