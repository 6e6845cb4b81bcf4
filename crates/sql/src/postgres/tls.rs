//! TLS as `sslmode` asks for it.

use std::path::Path;

use pawl_pgtls::Trust;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::settings::Encryption;

/// `None`: without.
pub(crate) fn connector(
    encryption: Encryption,
    authorities: Option<&Path>,
) -> Result<Option<MakeRustlsConnect>, String> {
    let trust = match encryption {
        Encryption::Disable => return Ok(None),
        Encryption::Prefer | Encryption::Require => Trust::Anybody,
        Encryption::VerifyCa => Trust::Authority,
        Encryption::VerifyFull => Trust::Name,
    };
    let connector = pawl_pgtls::connector(trust, authorities);
    let unusable = |reason| format!("root_certificates {reason}");
    connector.map(Some).map_err(unusable)
}
