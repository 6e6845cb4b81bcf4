//! Routes that go past the router. Calls of webhooks are many, and every layer of the router before a handler costs as
//! much as running a small node. So what is under the path of a direct route goes, whatever its method, straight to the
//! route's handler, through the same guard and counted the same. No key is asked for.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;

use super::ApiState;
use super::error::{ApiError, ApiResult};
use super::guard;
use super::metrics::RouteMeter;
use super::serve::Peer;

/// How the path of a direct route ends.
const REST: &str = "{*path}";

pub(super) type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// The handler of a direct route, and all around it.
pub(super) type DirectHandler =
    Arc<dyn Fn(&DirectRoute, hyper::Request<Incoming>, Peer) -> Answering + Send + Sync>;

/// A line of the table, as the server uses it.
pub(super) struct DirectRoute {
    prefix: &'static str,
    state: ApiState,
    meter: Arc<RouteMeter>,
    handler: DirectHandler,
}

impl DirectRoute {
    pub(super) fn new(
        state: &ApiState,
        path: &'static str,
        meter: Arc<RouteMeter>,
        handler: DirectHandler,
    ) -> Self {
        Self {
            prefix: prefix(path),
            state: state.clone(),
            meter,
            handler,
        }
    }

    pub(super) fn takes(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix)
            .is_some_and(|rest| !rest.is_empty())
    }

    pub(super) fn answer(&self, request: hyper::Request<Incoming>, peer: Peer) -> Answering {
        (self.handler)(self, request, peer)
    }
}

/// What every path under a direct route begins with.
pub(super) const fn prefix(path: &'static str) -> &'static str {
    path.split_at(path.len() - REST.len()).0
}

pub(super) fn handler<H, A>(handler: H) -> DirectHandler
where
    H: Fn(ApiState, Request) -> A + Copy + Send + Sync + 'static,
    A: Future<Output = ApiResult> + Send,
{
    Arc::new(move |route, request, peer| {
        let (state, meter, prefix) = (route.state.clone(), route.meter.clone(), route.prefix);
        Box::pin(async move {
            let started = state.now();
            let handled = handle(&state, request.map(Body::new), handler);
            let response = guard::sealed(handled).await;
            let status = response.status();
            meter.answered(status, state.now().since(started));
            let door = prefix.trim_matches('/');
            state.knocks.answered(Some(peer), door, status);
            Ok(response)
        })
    })
}

async fn handle<A>(
    state: &ApiState,
    mut request: Request,
    handler: impl Fn(ApiState, Request) -> A,
) -> Response
where
    A: Future<Output = ApiResult>,
{
    let answered = match guard::inspect(state, &mut request) {
        Ok(()) => handler(state.clone(), request).await,
        Err(refused) => Err(refused),
    };
    answered.unwrap_or_else(ApiError::into_response)
}
