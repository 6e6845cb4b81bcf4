//! Whom to trust: the system's certificate authorities and those given besides.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::error::{HttpError, HttpErrorKind};

pub(super) fn config(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, HttpError> {
    let mut roots = system_roots();
    for certificate in extra {
        roots.add(certificate).map_err(failed)?;
    }
    trusting(roots).map_err(failed)
}

/// For a client that calls one server which its user names: no address is forbidden. The certificates of the system are
/// read only if the server speaks TLS.
pub fn connector_to(
    is_https: bool,
    connect_timeout: Duration,
) -> Result<HttpsConnector<HttpConnector>, HttpError> {
    let config = match is_https {
        true => config(Vec::new())?,
        false => trusting(RootCertStore::empty()).map_err(failed)?,
    };
    let mut plain = HttpConnector::new();
    plain.enforce_http(false);
    plain.set_connect_timeout(Some(connect_timeout));
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().wrap_connector(plain))
}

fn failed(error: rustls::Error) -> HttpError {
    HttpError::new(HttpErrorKind::Tls, format!("TLS cannot be set up: {error}"))
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    // The provider is named here because the process default is ambiguous as soon as another crate
    // brings a second one.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let versions = builder.with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

/// A machine without certificates can still call plain http, so this warns instead of failing.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a certificate of the system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        tracing::warn!("the system has no certificate authorities; https calls will fail");
    }
    roots
}
