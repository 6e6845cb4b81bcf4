//! What a route is, and how the one [`table`] of them is mounted. What is not in it is not mounted; what is mounted
//! is in the OpenAPI document, and behind the role that its line names.

mod actions;
mod runs;
mod table;
mod webhooks;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};

use super::ApiState;
use super::access::{self, Door, Needs};
use super::metrics::{self, RouteMeter};
use super::openapi::{Answer, Body, Param};

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
    handler: MethodRouter<ApiState>,
    /// Each use is a line for the auditor.
    audited: bool,
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
        let handler = on(filter, handler);
        let (query, headers, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            method,
            path,
            needs,
            tag,
            summary,
            query,
            headers,
            body: None,
            answers,
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

    /// Takes every method; `method` is the one that is shown.
    fn any<H: Handler<T, ApiState>, T: 'static>(self, handler: H) -> Self {
        Self {
            // Methods of somebody's own invention too: the handler knows what to say.
            handler: on(every_method(), handler.clone()).fallback(handler),
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

    fn body(mut self, kind: &'static str, schema: &'static str, required: bool) -> Self {
        self.body = Some(Body {
            kind,
            schema,
            required,
        });
        self
    }

    fn json(self, schema: &'static str) -> Self {
        self.body("application/json", schema, true)
    }

    fn optional(self, schema: &'static str) -> Self {
        self.body("application/json", schema, false)
    }

    fn answer(mut self, status: u16, schema: &'static str) -> Self {
        self.answers.push(Answer { status, schema });
        self
    }
}

/// Not `any`, which is a fallback: guards are for routes, and axum refuses to put one before a fallback alone.
fn every_method() -> MethodFilter {
    [
        MethodFilter::HEAD,
        MethodFilter::POST,
        MethodFilter::PUT,
        MethodFilter::PATCH,
        MethodFilter::DELETE,
        MethodFilter::OPTIONS,
        MethodFilter::TRACE,
    ]
    .into_iter()
    .fold(MethodFilter::GET, MethodFilter::or)
}

/// Every handler gets its own guard, which knows what the line in the table says.
pub(super) fn mount(state: &ApiState) -> Router<ApiState> {
    table().into_iter().fold(Router::new(), |router, route| {
        let door = Door {
            state: state.clone(),
            needs: route.needs,
            path: route.path,
            audited: route.audited,
            query: route.query.iter().map(|param| param.name).collect(),
        };
        let guard = from_fn_with_state(door, access::enforce);
        let meter = RouteMeter::new(state.parts(), &route.method, route.path);
        let arrival = from_fn_with_state(meter, metrics::arrive);
        let handler = route.handler.route_layer(guard).route_layer(arrival);
        router.route(route.path, handler)
    })
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
