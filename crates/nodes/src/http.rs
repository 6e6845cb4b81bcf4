//! The one way out: an HTTP client that only connects to addresses its policy permits.
//!
//! The check is made in the connector, on the socket address really connected to, because that is the
//! only place that literals, names, redirects and rebinding DNS all pass through. There is no proxy, no
//! cookie jar, no decompression, and only HTTP/1.1. The client does not retry what may have been sent.

mod address;
mod connector;
mod error;
mod redirect;
mod tls;

#[cfg(test)]
mod address_tests;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use ::http::{Method, StatusCode, Uri};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pawl_kernel::secrets::CarriedSecrets;
use rustls::pki_types::CertificateDer;
use url::{Position, Url};

pub use self::address::{AddressPolicy, Cidr};
use self::connector::{Connector, TimedConnector};
pub use self::error::{HttpError, HttpErrorKind};
pub use self::tls::connector_to;

#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// For name, connection and TLS handshake together.
    pub connect_timeout: Duration,
    /// The head of a response: status line and all headers.
    pub header_bytes_max: usize,
    pub idle_connections_per_host: usize,
    pub idle_timeout: Duration,
    /// Certificate authorities (DER) trusted besides those of the system.
    pub extra_roots: Vec<Vec<u8>>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            header_bytes_max: 64 * 1024,
            idle_connections_per_host: 16,
            idle_timeout: Duration::from_secs(30),
            extra_roots: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// A longer response body is an error, noticed while it streams in.
    pub body_bytes_max: usize,
    /// How many redirects to follow; `None` hands a redirect back as the response.
    pub redirects_max: Option<u32>,
    /// For everything together; `None` when the caller drops the future instead.
    pub timeout: Option<Duration>,
    /// Every host on the way must be one of theirs: what was left out of a redirected request may be in its address.
    pub secrets: CarriedSecrets,
}

impl Request {
    /// No headers, no body, up to 5 redirects, 1 MiB of response.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            body_bytes_max: 1 << 20,
            redirects_max: Some(5),
            timeout: None,
            secrets: CarriedSecrets::default(),
        }
    }

    fn check_secrets(&self) -> Result<(), HttpError> {
        let (host, port) = (self.url.host_str(), self.url.port_or_known_default());
        let checked = self.secrets.check_host(host.unwrap_or_default(), port);
        checked.map_err(|error| HttpError::new(HttpErrorKind::Secret, error.message))
    }
}

#[derive(Clone, Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Where the response came from, after redirects.
    pub url: Url,
}

type Pool = Client<TimedConnector<HttpsConnector<Connector>>, Full<Bytes>>;

pub struct HttpClient {
    policy: Arc<AddressPolicy>,
    limits: HttpLimits,
    /// Made on first use: reading the system's certificates takes a while, and many runs never call out.
    pool: OnceLock<Result<Pool, HttpError>>,
}

impl HttpClient {
    pub fn new(policy: AddressPolicy, limits: HttpLimits) -> Self {
        Self {
            policy: Arc::new(policy),
            limits,
            pool: OnceLock::new(),
        }
    }

    /// Sends the request and reads the whole response, whatever its status. Dropping the future cancels.
    pub async fn send(&self, request: Request) -> Result<Response, HttpError> {
        let Some(timeout) = request.timeout else {
            return self.follow(request).await;
        };
        let host = host_of(&request.url);
        let finished = tokio::time::timeout(timeout, self.follow(request)).await;
        finished.unwrap_or_else(|_| Err(HttpError::timeout(&host, timeout)))
    }

    async fn follow(&self, mut request: Request) -> Result<Response, HttpError> {
        loop {
            request.check_secrets()?;
            let answer = self.exchange(&request).await?;
            match redirect::next(&request, answer.status(), answer.headers())? {
                Some(next) => request = next,
                None => return read(request, answer).await,
            }
        }
    }

    async fn exchange(&self, request: &Request) -> Result<::http::Response<Incoming>, HttpError> {
        let uri = checked_uri(&request.url)?;
        let mut message = ::http::Request::new(Full::new(request.body.clone()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = uri;
        *message.headers_mut() = request.headers.clone();
        if request.body.is_empty() && sends_a_body(&request.method) {
            // hyper leaves it out, and some servers then answer 411.
            message
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let pool = self
            .pool
            .get_or_init(|| self.build())
            .as_ref()
            .map_err(HttpError::clone)?;
        pool.request(message)
            .await
            .map_err(|error| HttpError::from_chain(&error, &host_of(&request.url)))
    }

    fn build(&self) -> Result<Pool, HttpError> {
        let roots = self
            .limits
            .extra_roots
            .iter()
            .map(|der| CertificateDer::from(der.clone()));
        let tls = tls::config(roots.collect())?;
        let https = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector::new(
                self.policy.clone(),
                self.limits.connect_timeout,
            ));
        Ok(Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.limits.idle_timeout)
            .pool_max_idle_per_host(self.limits.idle_connections_per_host)
            .http1_max_buf_size(self.limits.header_bytes_max.max(8 * 1024))
            .build(TimedConnector::new(https, self.limits.connect_timeout)))
    }
}

fn sends_a_body(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// What may be asked for at all, before any name is looked up.
fn checked_uri(url: &Url) -> Result<Uri, HttpError> {
    let refuse = |why: &str| Err(HttpError::new(HttpErrorKind::InvalidUrl, why));
    if !matches!(url.scheme(), "http" | "https") {
        return refuse(&format!(
            "only http and https addresses can be called, not `{}:`",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("a URL must not hold a user name or password; use `auth`");
    }
    if url.port() == Some(0) {
        return refuse("port 0 cannot be called");
    }
    match url[..Position::AfterQuery].parse() {
        Ok(uri) => Ok(uri),
        Err(error) => refuse(&format!("the URL cannot be sent: {error}")),
    }
}

async fn read(request: Request, answer: ::http::Response<Incoming>) -> Result<Response, HttpError> {
    let (head, mut body) = answer.into_parts();
    let too_large = || HttpError::too_large(request.body_bytes_max, head.status);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > request.body_bytes_max {
        return Err(too_large());
    }
    let mut bytes = BytesMut::with_capacity(announced);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| HttpError::from_chain(&error, &host_of(&request.url)))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if data.len() > request.body_bytes_max - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(data);
    }
    Ok(Response {
        status: head.status,
        headers: head.headers,
        body: bytes.freeze(),
        url: request.url,
    })
}
