//! The short way in. Calls of webhooks are many, and every layer of the router before a handler costs as much as running a
//! small node; so they go past it, through the same checks.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;

use super::take;
use crate::api::ApiState;
use crate::api::error::ApiError;
use crate::api::guard;
use crate::api::metrics::RouteMeter;
use crate::api::serve::Peer;

const PREFIX: &str = "/webhook/";
const ROUTE: &str = "/webhook/{*path}";

pub(in crate::api) type Answering =
    Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

#[derive(Clone)]
pub(in crate::api) struct Entrance {
    state: ApiState,
    meter: Arc<RouteMeter>,
}

impl Entrance {
    pub(in crate::api) fn new(state: &ApiState) -> Self {
        Self {
            state: state.clone(),
            meter: RouteMeter::new(state.parts(), &Method::POST, ROUTE),
        }
    }

    pub(in crate::api) fn takes(&self, path: &str) -> bool {
        path.strip_prefix(PREFIX)
            .is_some_and(|rest| !rest.is_empty())
    }

    pub(in crate::api) fn answer(&self, request: Request<Incoming>, peer: Peer) -> Answering {
        let Self { state, meter } = self.clone();
        Box::pin(async move {
            let started = state.now();
            let response = guard::sealed(handle(&state, request.map(Body::new))).await;
            let status = response.status();
            meter.answered(status, state.now().since(started));
            state.knocks.answered(Some(peer), "webhook", status);
            Ok(response)
        })
    }
}

async fn handle(state: &ApiState, mut request: Request<Body>) -> Response {
    let answered = match guard::inspect(state, &mut request) {
        Ok(()) => take(state, request).await,
        Err(refused) => Err(refused),
    };
    answered.unwrap_or_else(ApiError::into_response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::access::ANYBODY;
    use crate::api::routes::table;

    /// Calls do not come through the table: what stands there must be what happens here.
    #[test]
    fn the_table_says_the_same() {
        let routes = table();
        let mut lines = routes.iter().filter(|route| route.path == ROUTE);
        let line = lines.next().unwrap();
        assert!(line.needs == ANYBODY && line.method == Method::POST);
        assert!(lines.next().is_none());
    }
}
