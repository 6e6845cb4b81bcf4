//! What a route is, and how the one [`table`] of them is mounted. What is not in it is not mounted; what is mounted
//! is in the OpenAPI document, and behind the role that its line names.

mod actions;
mod letters;
mod overview;
mod runs;
mod table;
mod webhooks;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::JsonSchema;

use super::access::{self, Door, Needs};
use super::direct::{DirectHandler, DirectRoute};
use super::error::ApiResult;
use super::metrics::{self, RouteMeter};
use super::openapi::{Answer, Body, Param};
use super::{ApiState, direct};
use crate::wire::ErrorBody;

pub(super) use table::table;

pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// Who may call it. There is no default: a route without this does not compile.
    pub(super) needs: Needs,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Vec<Param>,
    pub(super) headers: Vec<Param>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    handler: RouteHandler,
    /// Each use is a line for the auditor.
    audited: bool,
}

enum RouteHandler {
    Mounted(Box<MethodRouter<ApiState>>),
    Direct(DirectHandler),
}

impl Route {
    fn new<H, T>(
        method: Method,
        path: &'static str,
        needs: Needs,
        tag: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, ApiState>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::GET);
        let handler = RouteHandler::Mounted(Box::new(on(filter, handler)));
        Self::with(handler, method, path, needs, tag, summary)
    }

    /// Takes every method, past the router and without a key; `method` is the one that is shown. The path ends with
    /// `{*path}`.
    fn direct<H, A>(
        method: Method,
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
        handler: H,
    ) -> Self
    where
        H: Fn(ApiState, Request) -> A + Copy + Send + Sync + 'static,
        A: Future<Output = ApiResult> + Send,
    {
        let handler = RouteHandler::Direct(direct::handler(handler));
        Self::with(handler, method, path, access::ANYBODY, tag, summary)
    }

    fn with(
        handler: RouteHandler,
        method: Method,
        path: &'static str,
        needs: Needs,
        tag: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            needs,
            tag,
            summary,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            answers: Vec::new(),
            handler,
            // All that editors and administrators do, but for looking.
            audited: matches!(needs, access::EDITOR | access::ADMIN),
        }
    }

    fn audited(self) -> Self {
        Self {
            audited: true,
            ..self
        }
    }

    fn query(mut self, params: &[Param]) -> Self {
        self.query.extend_from_slice(params);
        self
    }

    fn header(mut self, param: Param) -> Self {
        self.headers.push(param);
        self
    }

    /// A JSON body that must be there.
    fn json<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Body::new::<T>());
        self
    }

    /// A JSON body that may be left out.
    fn optional<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Body::new::<T>().optional());
        self
    }

    /// A document that people write: as YAML or as JSON.
    fn document<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Body::new::<T>().or_yaml());
        self
    }

    fn answer<T: JsonSchema>(mut self, status: u16) -> Self {
        self.answers.push(Answer::json::<T>(status));
        self
    }

    /// An answer that is no JSON.
    fn text<T: JsonSchema>(mut self, status: u16, kind: &'static str) -> Self {
        self.answers.push(Answer::text::<T>(status, kind));
        self
    }

    fn empty(mut self, status: u16) -> Self {
        self.answers.push(Answer::empty(status));
        self
    }

    fn refusal(self, status: u16) -> Self {
        self.answer::<ErrorBody>(status)
    }
}

/// Every handler gets its own guard, which knows what the line in the table says.
pub(super) fn mount(state: &ApiState) -> Router<ApiState> {
    table().into_iter().fold(Router::new(), |router, route| {
        let RouteHandler::Mounted(handler) = route.handler else {
            return router;
        };
        let door = Door {
            state: state.clone(),
            needs: route.needs,
            path: route.path,
            audited: route.audited,
            query: route.query.iter().map(|param| param.name).collect(),
        };
        let guard = from_fn_with_state(door, access::enforce);
        let meter = RouteMeter::new(state.runtime(), &route.method, route.path);
        let arrival = from_fn_with_state(meter, metrics::arrive);
        let handler = handler.route_layer(guard).route_layer(arrival);
        router.route(route.path, handler)
    })
}

/// Those that go past the router.
pub(super) fn direct(state: &ApiState) -> Vec<DirectRoute> {
    let direct = table().into_iter().filter_map(|route| {
        let RouteHandler::Direct(handler) = route.handler else {
            return None;
        };
        let meter = RouteMeter::new(state.runtime(), &route.method, route.path);
        Some(DirectRoute::new(state, route.path, meter, handler))
    });
    direct.collect()
}

fn get<H: Handler<T, ApiState>, T: 'static>(
    path: &'static str,
    needs: Needs,
    tag: &'static str,
    summary: &'static str,
    handler: H,
) -> Route {
    Route::new(Method::GET, path, needs, tag, summary, handler)
}

fn post<H: Handler<T, ApiState>, T: 'static>(
    path: &'static str,
    needs: Needs,
    tag: &'static str,
    summary: &'static str,
    handler: H,
) -> Route {
    Route::new(Method::POST, path, needs, tag, summary, handler)
}
