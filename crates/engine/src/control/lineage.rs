//! The history of a retry or a fork begins in the execution it was made from, and that one's perhaps in another.

use std::sync::Arc;

use pawl_kernel::context::{Context, CorruptContext, Facts};
use pawl_kernel::execution::Head;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{ExecutionView, StoreError};
use pawl_kernel::schema::graph::Graph;

use crate::graphs::GraphError;

use super::{Control, ControlError};

/// A chain of retries that is longer is not followed to its beginning.
const GENERATIONS_MAX: usize = 100;

/// Whose steps make up the history of one execution, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    pub stretches: Vec<Stretch>,
    /// The beginning, if it is not kept any more.
    pub gone: Option<RemovedSteps>,
}

/// The steps after `after` up to `up_to`, and the execution that made them, by which version of which schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub id: ExecutionId,
    pub after: u64,
    pub up_to: u64,
    pub schema_id: SchemaId,
    pub version: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedSteps {
    pub id: ExecutionId,
    pub up_to: u64,
}

impl RemovedSteps {
    pub fn message(&self) -> String {
        let Self { id, up_to } = self;
        format!(
            "steps 1 to {up_to} were taken over from execution {id}, which is not kept any more or more than \
             {GENERATIONS_MAX} retries and forks away"
        )
    }
}

impl Stretch {
    /// What the execution did itself, up to `up_to`.
    fn of(head: &Head, up_to: u64) -> Self {
        Self {
            id: head.id,
            after: head.base_seq,
            up_to,
            schema_id: head.schema_id,
            version: head.schema_version,
        }
    }
}

impl Lineage {
    /// Only what the execution did itself.
    pub fn own(view: &ExecutionView) -> Self {
        Self {
            stretches: vec![Stretch::of(&view.execution.head, u64::MAX)],
            gone: None,
        }
    }

    /// Which execution made this step. None made step 0: it is the beginning of the first.
    fn maker(&self, seq: u64) -> Option<ExecutionId> {
        let made = |stretch: &&Stretch| stretch.after < seq.max(1) && seq <= stretch.up_to;
        self.stretches.iter().find(made).map(|stretch| stretch.id)
    }
}

impl Control {
    pub async fn lineage(&self, view: &ExecutionView) -> Result<Lineage, ControlError> {
        let mut lineage = Lineage::own(view);
        let (mut up_to, mut origin) = (view.execution.head.base_seq, view.execution.origin());
        let mut generations = 0;
        while let Some(id) = origin.filter(|_| up_to > 0) {
            // A retry of a retry at the same node has no steps of its own; it counts all the same.
            generations += 1;
            let found = match generations < GENERATIONS_MAX {
                true => self.runtime.store.execution(id).await?,
                false => None,
            };
            let Some(parent) = found else {
                lineage.gone = Some(RemovedSteps { id, up_to });
                break;
            };
            let after = parent.execution.head.base_seq;
            if after < up_to {
                let part = Stretch::of(&parent.execution.head, up_to);
                lineage.stretches.push(part);
            }
            (up_to, origin) = (up_to.min(after), parent.execution.origin());
        }
        lineage.stretches.reverse();
        Ok(lineage)
    }

    /// The execution that made this step of a history, itself or one it goes back to.
    pub async fn maker(
        &self,
        view: &ExecutionView,
        seq: u64,
    ) -> Result<ExecutionView, ControlError> {
        if seq > view.execution.head.base_seq {
            return Ok(view.clone());
        }
        let lineage = self.lineage(view).await?;
        match (lineage.maker(seq), lineage.gone) {
            (_, Some(gone)) if seq <= gone.up_to => Err(ControlError::NotFound(gone.message())),
            (Some(id), _) => self.view(id).await,
            (None, _) => Ok(view.clone()),
        }
    }

    /// The graph that made these steps; none if its version is not stored any more or cannot be compiled here.
    pub async fn graph_of(&self, part: &Stretch) -> Result<Option<Arc<Graph>>, ControlError> {
        let graphs = &self.runtime.graphs;
        match graphs.get(part.schema_id, part.version).await {
            Ok(graph) => Ok(Some(graph)),
            Err(GraphError::Store(error)) => Err(error.into()),
            Err(GraphError::Missing { .. } | GraphError::Broken { .. }) => Ok(None),
        }
    }

    /// The context as it was after step `seq`, in the execution that made the step.
    pub async fn context_at(
        &self,
        view: &ExecutionView,
        seq: u64,
    ) -> Result<Context, ControlError> {
        match seq < view.execution.head.base_seq {
            true => {
                self.own_context_at(&self.maker(view, seq).await?, seq)
                    .await
            }
            false => self.own_context_at(view, seq).await,
        }
    }

    async fn own_context_at(
        &self,
        view: &ExecutionView,
        seq: u64,
    ) -> Result<Context, ControlError> {
        let facts = Facts {
            schema_name: view.schema_name.clone(),
        };
        let history = self
            .runtime
            .store
            .history(view.execution.head.id, seq)
            .await?;
        let last_step = history.steps.last().map(|step| step.seq);
        let snapshot = history.snapshot.as_ref().map(|snapshot| snapshot.seq);
        if last_step.or(snapshot).unwrap_or(0) != seq {
            return Err(self.vanished(view.execution.head.id).await);
        }
        let corrupt =
            |error: CorruptContext| ControlError::Store(StoreError::Corrupt(error.to_string()));
        let mut context =
            Context::start(&view.execution, &facts, &self.runtime.options.env).map_err(corrupt)?;
        if let Some(snapshot) = &history.snapshot {
            context.restore(&snapshot.context).map_err(corrupt)?;
        }
        for step in &history.steps {
            context.apply_step(step).map_err(corrupt)?;
        }
        Ok(context)
    }

    /// Steps that must be there are not: the execution was removed while we looked, or the store is damaged.
    pub(super) async fn vanished(&self, id: ExecutionId) -> ControlError {
        match self.view(id).await {
            Err(error) => error,
            Ok(_) => ControlError::Store(StoreError::Corrupt(format!(
                "steps of the execution {id} are missing"
            ))),
        }
    }
}
