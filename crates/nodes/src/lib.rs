//! The node types that come with Pawl, one file each: the description people read, the config, the
//! handler, its tests. A new type is one file, its `mod` line and its line in [`handlers`].
//!
//! Handlers see a rendered config and return an outcome. They know neither store nor queue and never
//! name the next node. What they share of the outside world is the [`Environment`].

pub mod brokers;
pub mod http;

mod condition;
mod end;
mod fail;
mod http_request;
mod log;
mod math;
mod parse;
mod rabbitmq_publish;
mod respond;
mod sleep;
mod start;
mod switch;
mod transform;
mod variable_set;
mod wait_event;

#[cfg(test)]
mod spec_tests;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use pawl_kernel::node::{NodeHandler, Registry};

use crate::brokers::{Brokers, NoBrokers};
use crate::http::{AddressPolicy, HttpClient, HttpLimits};

/// What effectful nodes work with, made once per process.
#[derive(Clone)]
pub struct Environment {
    pub http: Arc<HttpClient>,
    pub brokers: Arc<dyn Brokers>,
}

impl Environment {
    pub fn new(policy: AddressPolicy, limits: HttpLimits) -> Self {
        Self {
            http: Arc::new(HttpClient::new(policy, limits)),
            brokers: Arc::new(NoBrokers),
        }
    }

    pub fn with_brokers(self, brokers: Arc<dyn Brokers>) -> Self {
        Self { brokers, ..self }
    }
}

pub fn handlers(environment: &Environment) -> Vec<Arc<dyn NodeHandler>> {
    vec![
        Arc::new(start::Start),
        Arc::new(end::End),
        Arc::new(log::Log),
        Arc::new(condition::Condition),
        Arc::new(switch::Switch),
        Arc::new(variable_set::VariableSet),
        Arc::new(transform::Transform),
        Arc::new(math::Math),
        Arc::new(sleep::Sleep),
        Arc::new(http_request::HttpRequest::new(environment)),
        Arc::new(rabbitmq_publish::RabbitmqPublish::new(environment)),
        Arc::new(wait_event::WaitEvent),
        Arc::new(fail::Fail),
        Arc::new(respond::Respond),
    ]
}

pub fn registry(environment: &Environment) -> Registry {
    Registry::new(handlers(environment))
}
