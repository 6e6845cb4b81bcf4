//! Whom to trust: the system's certificate authorities and those given besides.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::error::{HttpError, HttpErrorKind};

pub(super) fn config(extra: Vec<CertificateDer<'static>>) -> Result<ClientConfig, HttpError> {
    let failed = |error: rustls::Error| {
        HttpError::new(HttpErrorKind::Tls, format!("TLS cannot be set up: {error}"))
    };
    // The provider is named here because the process default is ambiguous as soon as another crate
    // brings a second one.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = system_roots();
    for certificate in extra {
        roots.add(certificate).map_err(failed)?;
    }
    let builder = ClientConfig::builder_with_provider(provider);
    let versions = builder
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
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
