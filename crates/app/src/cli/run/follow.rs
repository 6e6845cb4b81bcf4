//! Watches one execution to its end and shows what is new.

use std::collections::VecDeque;
use std::time::Duration;

use pawl_engine::Watcher;
use pawl_engine::control::{Control, ControlError};
use pawl_kernel::execution::{LogRecord, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionView;

use super::super::failure::{Done, Failure};
use super::super::signals::Signals;
use super::ABORTED;
use super::debugger::{Debugger, Order};
use super::screen::Screen;

const PAGE: u32 = 500;
/// Hints can be lost; then this is how long a change goes unseen.
const REREAD: Duration = Duration::from_secs(1);

pub(super) struct Follower<'a> {
    control: &'a Control,
    id: ExecutionId,
    watcher: Watcher,
    screen: Screen,
    shown_seq: u64,
    read_log: u64,
    /// Lines of steps that are not shown yet.
    logs: VecDeque<LogRecord>,
    stopping: bool,
}

impl<'a> Follower<'a> {
    pub(super) fn new(control: &'a Control, id: ExecutionId, screen: Screen) -> Self {
        let watcher = control.runtime().hints.watch(id);
        Self {
            control,
            id,
            watcher,
            screen,
            shown_seq: 0,
            read_log: 0,
            logs: VecDeque::new(),
            stopping: false,
        }
    }

    pub(super) async fn until_end(
        mut self,
        mut debugger: Option<Debugger>,
        signals: &mut Signals,
    ) -> Result<ExecutionView, Failure> {
        loop {
            let view = self.look().await?;
            if view.execution.head.status.is_terminal() {
                return Ok(view);
            }
            match (&mut debugger, view.execution.head.status) {
                (Some(debugger), Status::WaitingDebug) if !self.stopping => {
                    self.ask(debugger, &view, signals).await?;
                }
                _ => self.wait(signals).await?,
            }
        }
    }

    /// Shows what was committed since the last look.
    async fn look(&mut self) -> Result<ExecutionView, Failure> {
        let view = self.control.view(self.id).await?;
        let store = &self.control.runtime().store;
        loop {
            let steps = store.steps(self.id, self.shown_seq, PAGE).await?;
            self.read_logs().await?;
            if steps.is_empty() {
                break;
            }
            for (step, _) in &steps {
                self.shown_seq = step.seq;
                self.screen.step(step)?;
                self.show_logs(step.seq)?;
            }
        }
        self.screen
            .notice(&view, self.control.runtime().clock.now())?;
        Ok(view)
    }

    async fn read_logs(&mut self) -> Done {
        loop {
            let lines = self
                .control
                .runtime()
                .store
                .logs(self.id, self.read_log, PAGE)
                .await?;
            let Some((last, _)) = lines.last() else {
                return Ok(());
            };
            self.read_log = *last;
            self.logs.extend(lines.into_iter().map(|(_, line)| line));
        }
    }

    fn show_logs(&mut self, seq: u64) -> Done {
        while let Some(line) = self.logs.pop_front_if(|line| line.seq <= seq) {
            self.screen.log(&line)?;
        }
        Ok(())
    }

    async fn wait(&mut self, signals: &mut Signals) -> Done {
        tokio::select! {
            _ = self.watcher.changed() => Ok(()),
            () = tokio::time::sleep(REREAD) => Ok(()),
            () = signals.next() => self.stop().await,
        }
    }

    /// The first Ctrl-C stops the execution, the second does not wait for that.
    async fn stop(&mut self) -> Done {
        if self.stopping {
            return Err(Failure::Said(ABORTED));
        }
        self.stopping = true;
        match self.control.stop(self.id).await {
            // It ended in the meantime: the next look shows how.
            Ok(_) | Err(ControlError::Conflict(_) | ControlError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn ask(
        &mut self,
        debugger: &mut Debugger,
        view: &ExecutionView,
        signals: &mut Signals,
    ) -> Done {
        let order = tokio::select! {
            order = debugger.ask(view) => order,
            () = signals.next() => Order::Stop,
        };
        let Order::Go { mode, variables } = order else {
            return self.stop().await;
        };
        let seq = view.state.seq;
        match self
            .control
            .continue_debug(self.id, mode, variables, Some(seq))
            .await
        {
            Ok(_) => {
                debugger.done();
                Ok(())
            }
            Err(ControlError::Store(error)) => Err(error.into()),
            Err(refused) => {
                debugger.refused(&refused.to_string());
                Ok(())
            }
        }
    }
}
