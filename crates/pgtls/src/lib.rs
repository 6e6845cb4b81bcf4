//! TLS to PostgreSQL as `sslmode` asks for it: for the store, and for users' databases.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Who may be at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Anybody,
    /// Somebody whom a known authority has signed.
    Authority,
    /// And who has the right name.
    Name,
}

/// `authorities`: a file with those to trust, instead of the system's. The reason for a failure names that file.
pub fn connector(trust: Trust, authorities: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = if trust == Trust::Name {
        builder
            .with_root_certificates(roots(authorities)?)
            .with_no_client_auth()
    } else {
        let inner = match trust {
            Trust::Authority => Some(verifier(authorities, provider.clone())?),
            _ => None,
        };
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Lenient { inner, provider }))
            .with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(config))
}

fn verifier(
    authorities: Option<&Path>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots(authorities)?), provider)
        .build()
        .map_err(|error| error.to_string())
}

fn roots(authorities: Option<&Path>) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let Some(file) = authorities else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let unreadable = |reason: &str| format!("{}: {reason}", file.display());
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(&error.to_string()))?;
        store
            .add(certificate)
            .map_err(|error| unreadable(&error.to_string()))?;
    }
    if store.is_empty() {
        return Err(unreadable("there is no certificate in it"));
    }
    Ok(store)
}

/// Checks less than a browser would, as `sslmode` asks for: nothing, or all but the name.
#[derive(Debug)]
struct Lenient {
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError as E;
        let Some(inner) = &self.inner else {
            return Ok(ServerCertVerified::assertion());
        };
        match inner.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                E::NotValidForName | E::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
