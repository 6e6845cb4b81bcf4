//! A definition made ready to run: edges resolved, every text compiled once.
//!
//! Compiling checks only what running needs, so that a version saved under older rules still runs.
//! The rules for saving are in [`super::validate`].

pub(super) mod config;
mod late;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::config::RenderError;
use self::config::{BadText, ConfigValue};
pub use self::late::LateTexts;
use self::late::Reads;
use super::codes;
use super::definition::{Definition, LANGUAGE, NodeDefinition};
use super::exits::name_stored_exits;
use super::findings::{Finding, Findings};
use super::read::Layout;
use super::validate::{NODE_START, bad_text};
use crate::diagnostic::Diagnostic;
use crate::expr::{Meter, Scope};
use crate::input::InputCheck;
use crate::node::{NodeHandler, Registry};
use crate::secrets::SecretReads;

pub struct Graph {
    definition: Definition,
    nodes: Vec<Node>,
    by_id: HashMap<Arc<str>, usize>,
    names: BTreeMap<String, String>,
    start: usize,
    admission: AdmissionTexts,
    owner: Option<Value>,
    /// An error says why this program cannot check it; what runs already runs on.
    input: Option<Result<InputCheck, String>>,
}

/// The templates that decide which quotas an execution counts against.
#[derive(Default)]
struct AdmissionTexts {
    tenant: Option<ConfigValue>,
    key: Option<ConfigValue>,
}

impl AdmissionTexts {
    fn compile(definition: &Definition, findings: &mut Findings) -> Self {
        let mut compile = |text: Option<&str>, pointer: &str| {
            let compiled = config::compile_text(text?);
            compiled
                .map_err(|error| {
                    let pointer = pointer.to_owned();
                    findings.add(bad_text("", None, BadText { pointer, error }));
                })
                .ok()
        };
        let settings = &definition.settings;
        Self {
            tenant: compile(settings.tenant.as_deref(), "/settings/tenant"),
            key: compile(settings.concurrency_key(), "/settings/concurrency/key"),
        }
    }
}

pub struct Node {
    pub id: Arc<str>,
    pub node_type: Arc<str>,
    /// `None` if this process does not know the type: another worker may.
    pub handler: Option<Arc<dyn NodeHandler>>,
    pub pure: bool,
    pub definition: NodeDefinition,
    /// The node's own timeout, or that of the settings.
    pub timeout: Duration,
    config: Arc<ConfigValue>,
    late_reads: Option<Reads>,
    secret_reads: SecretReads,
    exits: Vec<(Box<str>, usize)>,
}

impl Graph {
    pub fn compile(
        mut definition: Definition,
        registry: &Registry,
    ) -> Result<Self, Vec<Diagnostic>> {
        name_stored_exits(&mut definition, registry);
        let layout = Layout::of(&definition);
        let mut findings = Findings::default();
        let mut nodes = Vec::with_capacity(definition.nodes.len());
        let mut by_id = HashMap::with_capacity(definition.nodes.len());
        for (index, node) in definition.nodes.iter().enumerate() {
            let node = Node::compile(node, &definition, registry, &layout, index, &mut findings);
            if by_id.insert(Arc::clone(&node.id), index).is_some() {
                let message = format!("two nodes have the id `{}`", node.id);
                let pointer = &layout.nodes[index].node;
                findings.add(Finding::error(codes::DUPLICATE_ID, pointer, message));
            }
            nodes.push(node);
        }
        connect(&mut nodes, &by_id, &definition, &layout, &mut findings);
        if definition.language > LANGUAGE {
            let message = format!(
                "language level {} is newer than this program",
                definition.language
            );
            findings.add(Finding::error(
                codes::UNKNOWN_LANGUAGE,
                "/language",
                message,
            ));
        }
        let admission = AdmissionTexts::compile(&definition, &mut findings);
        let start = only_start(&nodes, &mut findings);
        match start {
            Some(start) if findings.errors() == 0 => Ok(Self {
                names: names_of(&definition),
                input: definition.input.as_ref().map(InputCheck::compile),
                definition,
                nodes,
                by_id,
                start,
                admission,
                owner: None,
            }),
            _ => Err(findings.into_diagnostics()),
        }
    }

    /// Ids of nodes by the names that people gave them; the first of two that are called the same.
    pub fn names(&self) -> &BTreeMap<String, String> {
        &self.names
    }

    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The same, as `owner` saved it.
    #[must_use]
    pub fn owned_by(self, owner: Value) -> Self {
        Self {
            owner: Some(owner),
            ..self
        }
    }

    /// The user who saved this version: `user` of the executions that are started without a caller.
    pub fn owner(&self) -> Option<&Value> {
        self.owner.as_ref()
    }

    /// What the input of a start has to fit. `Err`: this program cannot tell, because another one saved the version.
    pub fn input(&self) -> Result<Option<&InputCheck>, &str> {
        match &self.input {
            None => Ok(None),
            Some(Ok(check)) => Ok(Some(check)),
            Some(Err(reason)) => Err(reason),
        }
    }

    pub fn start(&self) -> &Node {
        &self.nodes[self.start]
    }

    pub fn node(&self, id: &str) -> Option<&Node> {
        self.by_id.get(id).map(|&index| &self.nodes[index])
    }

    /// Where the edge of exactly this handle leads.
    pub fn target(&self, node: &Node, handle: &str) -> Option<&Node> {
        node.exit(handle).map(|index| &self.nodes[index])
    }

    /// The exit by which one node leads to another, if there is just one.
    pub fn exit_between(&self, node_id: &str, next_id: &str) -> Option<&str> {
        let next = *self.by_id.get(next_id)?;
        let mut exits = self.node(node_id)?.exits.iter();
        let mut leading = exits.by_ref().filter(|(_, target)| *target == next);
        let (handle, _) = leading.next()?;
        leading.next().is_none().then_some(handle)
    }

    pub fn has_edge(&self, node: &Node, handle: &str) -> bool {
        node.exit(handle).is_some()
    }

    /// In the order of the definition.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Do the settings say which tenant an execution belongs to, or which concurrency key it has?
    pub fn has_admission_texts(&self) -> bool {
        self.admission.tenant.is_some() || self.admission.key.is_some()
    }

    /// `settings.tenant`, read before the first step.
    pub fn render_tenant(
        &self,
        scope: &Scope<'_>,
        meter: &mut Meter,
    ) -> Option<Result<Value, RenderError>> {
        Some(self.admission.tenant.as_ref()?.render(scope, meter))
    }

    /// `settings.concurrency.key`, read before the first step.
    pub fn render_concurrency_key(
        &self,
        scope: &Scope<'_>,
        meter: &mut Meter,
    ) -> Option<Result<Value, RenderError>> {
        Some(self.admission.key.as_ref()?.render(scope, meter))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("name", &self.definition.name)
            .field("nodes", &self.nodes)
            .finish()
    }
}

impl Node {
    fn compile(
        node: &NodeDefinition,
        definition: &Definition,
        registry: &Registry,
        layout: &Layout,
        index: usize,
        findings: &mut Findings,
    ) -> Self {
        let handler = registry.get(&node.node_type).cloned();
        let mut problems: Vec<BadText> = Vec::new();
        let config = match &handler {
            Some(handler) => config::compile(&node.config, handler.spec().fields, &mut problems),
            None => ConfigValue::Literal(node.config.clone()),
        };
        for problem in problems {
            findings.add(bad_text(
                &layout.nodes[index].config,
                Some(&node.id),
                problem,
            ));
        }
        Self {
            id: node.id.as_str().into(),
            node_type: node.node_type.as_str().into(),
            pure: handler.as_ref().is_some_and(|handler| handler.spec().pure),
            handler,
            timeout: node.timeout.unwrap_or(definition.settings.node_timeout),
            definition: node.clone(),
            late_reads: has_late(&config).then(|| Reads::of(&config)),
            secret_reads: secret_reads(&config),
            config: Arc::new(config),
            exits: Vec::new(),
        }
    }

    /// The config with every expression evaluated.
    pub fn render(&self, scope: &Scope<'_>, meter: &mut Meter) -> Result<Value, RenderError> {
        self.config.render(scope, meter)
    }

    /// The secrets that its texts name.
    pub fn secret_reads(&self) -> &SecretReads {
        &self.secret_reads
    }

    /// The texts that are left to the node, with the part of the context that they read.
    pub fn late(&self, scope: &Scope<'_>) -> LateTexts {
        match &self.late_reads {
            Some(reads) => LateTexts::new(&self.config, reads, scope),
            None => LateTexts::default(),
        }
    }

    fn exit(&self, handle: &str) -> Option<usize> {
        let exit = self.exits.iter().find(|(name, _)| **name == *handle);
        exit.map(|(_, target)| *target)
    }
}

fn names_of(definition: &Definition) -> BTreeMap<String, String> {
    let named = |node: &NodeDefinition| Some((node.name.clone()?, node.id.clone()));
    definition.nodes.iter().rev().filter_map(named).collect()
}

fn secret_reads(config: &ConfigValue) -> SecretReads {
    let mut reads = SecretReads::default();
    config.each_reference("", &mut |_, reference| reads.add(reference));
    reads
}

fn has_late(config: &ConfigValue) -> bool {
    let mut found = false;
    config.each_late(&mut |_| found = true);
    found
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.id, self.node_type)
    }
}

fn connect(
    nodes: &mut [Node],
    by_id: &HashMap<Arc<str>, usize>,
    definition: &Definition,
    layout: &Layout,
    findings: &mut Findings,
) {
    for (edge, pointer) in definition.edges.iter().zip(&layout.edges) {
        let ends = by_id
            .get(edge.source.as_str())
            .zip(by_id.get(edge.target.as_str()));
        let Some((&source, &target)) = ends else {
            let message = format!("the edge {} → {} leads nowhere", edge.source, edge.target);
            findings.add(Finding::error(codes::UNKNOWN_NODE, pointer, message));
            continue;
        };
        if nodes[source].exit(&edge.source_handle).is_some() {
            let message = format!(
                "several edges leave `{}` by `{}`",
                edge.source, edge.source_handle
            );
            findings.add(Finding::error(codes::SEVERAL_EDGES, pointer, message));
            continue;
        }
        let handle = edge.source_handle.as_str().into();
        nodes[source].exits.push((handle, target));
    }
}

fn only_start(nodes: &[Node], findings: &mut Findings) -> Option<usize> {
    let mut starts = (0..nodes.len()).filter(|&index| &*nodes[index].node_type == NODE_START);
    let start = starts.next();
    if start.is_none() {
        findings.add(Finding::error(
            codes::NO_START,
            "/nodes",
            "no node has the type `start`",
        ));
    }
    if starts.next().is_some() {
        findings.add(Finding::error(
            codes::SECOND_START,
            "/nodes",
            "two nodes have the type `start`",
        ));
    }
    start
}
