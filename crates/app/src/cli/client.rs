//! The HTTP client of the commands that talk to a running Pawl.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Error};
use hyper_util::rt::TokioExecutor;
use pawl_nodes::http::connector_to;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::failure::Failure;

const USUAL_URL: &str = "http://127.0.0.1:8080";
const ANSWER_BYTES_MAX: usize = 256 << 20;
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Where the server is.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Server {
    /// Where Pawl runs.
    #[arg(long, env = "PAWL_URL", default_value = USUAL_URL, global = true)]
    url: String,
    /// The API key, sent as a bearer token; PAWL_ADMIN_KEY if neither is given.
    #[arg(long, env = "PAWL_KEY", hide_env_values = true, global = true)]
    key: Option<String>,
}

impl Server {
    pub(super) fn new(url: &str, key: Option<String>) -> Self {
        Self {
            url: url.to_owned(),
            key,
        }
    }
}

pub(super) struct Client {
    base: Url,
    key: Option<String>,
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// A body and what it is.
pub(super) enum Content {
    None,
    Json(Value),
    /// The text of a schema; the server finds out whether it is JSON or YAML.
    Schema(String),
}

impl Content {
    /// A body as the type says.
    pub(super) fn of(body: &impl Serialize) -> Result<Self, Failure> {
        let body = serde_json::to_value(body);
        body.map(Self::Json)
            .map_err(|error| Failure::failed(error.to_string()))
    }
}

impl Client {
    pub(super) fn new(server: &Server) -> Result<Self, Failure> {
        let bad = || {
            Failure::bad_input(format!(
                "--url: `{}` is no address; write http://host:port or https://host",
                server.url
            ))
        };
        let base = Url::parse(&server.url).map_err(|_| bad())?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(bad());
        }
        let connector = connector_to(base.scheme() == "https", CONNECT_TIME)
            .map_err(|error| Failure::failed(error.to_string()))?;
        let http = legacy::Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self {
            base,
            key: key(server),
            http,
        })
    }

    /// The address of a path, with every segment encoded.
    pub(super) fn at(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("api").extend(segments);
        }
        url
    }

    pub(super) async fn get(&self, segments: &[&str]) -> Result<Value, Failure> {
        self.get_url(self.at(segments)).await
    }

    pub(super) async fn get_url(&self, url: Url) -> Result<Value, Failure> {
        self.ask(Method::GET, url, Content::None).await
    }

    pub(super) async fn post(&self, segments: &[&str], body: Content) -> Result<Value, Failure> {
        self.ask(Method::POST, self.at(segments), body).await
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        url: Url,
        content: Content,
    ) -> Result<Value, Failure> {
        let response = self.send(method, url, content).await?;
        let status = response.status();
        let bytes = self.read(response).await?;
        let body = match bytes.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&bytes).map_err(|_| self.not_pawl(status))?,
        };
        match status.is_success() {
            true => Ok(body),
            false => Err(Failure::Refused {
                status: status.as_u16(),
                body,
            }),
        }
    }

    /// A response whose body is read as it comes; refusals are read to their end.
    pub(super) async fn stream(&self, url: Url) -> Result<Incoming, Failure> {
        let response = self.send(Method::GET, url, Content::None).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let bytes = self.read(response).await?;
        let body = serde_json::from_slice(&bytes).unwrap_or(json!(null));
        Err(Failure::Refused {
            status: status.as_u16(),
            body,
        })
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        content: Content,
    ) -> Result<Response<Incoming>, Failure> {
        let (kind, bytes) = match content {
            Content::None => (None, Bytes::new()),
            Content::Json(value) => (Some("application/json"), value.to_string().into()),
            Content::Schema(text) if is_json(&text) => (Some("application/json"), text.into()),
            Content::Schema(text) => (Some("application/yaml"), text.into()),
        };
        let mut request = Request::builder().method(method).uri(url.as_str());
        if let Some(kind) = kind {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::new(bytes)).map_err(|_| {
            Failure::bad_input("the address or key has characters that HTTP does not allow")
        })?;
        self.http
            .request(request)
            .await
            .map_err(|error| self.unreachable(&error))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Bytes, Failure> {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await;
        let body = body.map_err(|error| {
            Failure::failed(format!("the answer of {} broke off: {error}", self.base))
        })?;
        Ok(body.to_bytes())
    }

    fn not_pawl(&self, status: StatusCode) -> Failure {
        Failure::failed(format!(
            "{} answered {status} without JSON; is this a Pawl server?",
            self.base
        ))
    }

    fn unreachable(&self, error: &Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let advice = match error.is_connect() {
            true => {
                "; start `pawl dev` or `pawl server`, or say where it runs with --url or PAWL_URL"
            }
            false => "",
        };
        Failure::failed(format!(
            "cannot reach Pawl at {}: {cause}{advice}",
            self.base
        ))
    }
}

/// An answer as what it is. A server of another version may answer with something else.
pub(super) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|error| {
        Failure::failed(format!(
            "the answer is not what this version of pawl knows: {error}; --json shows it as it is"
        ))
    })
}

/// On the machine of the server its own variable opens the door, so that the first key can be made.
fn key(server: &Server) -> Option<String> {
    let given = server.key.clone().filter(|key| !key.is_empty());
    let admin = || std::env::var("PAWL_ADMIN_KEY").ok();
    given.or_else(admin).filter(|key| !key.is_empty())
}

fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, Failure> {
        Client::new(&Server {
            url: url.into(),
            key: None,
        })
    }

    #[test]
    fn segments_cannot_leave_their_place() {
        let client = client("http://localhost:1/").unwrap();
        assert_eq!(
            client.at(&["schemas", "a/b?c#d"]).as_str(),
            "http://localhost:1/api/schemas/a%2Fb%3Fc%23d"
        );
        let below = super::Client::new(&Server {
            url: "http://h/pawl".into(),
            key: None,
        })
        .unwrap();
        assert_eq!(below.at(&["schemas"]).as_str(), "http://h/pawl/api/schemas");
    }

    #[test]
    fn only_http_and_https() {
        for url in ["", "x", "ftp://h", "file:///etc/passwd", "127.0.0.1:8080"] {
            assert!(client(url).is_err(), "{url}");
        }
        assert!(client("https://h").is_ok());
    }
}
