//! A certificate for 127.0.0.1 and localhost, signed by an authority made for it alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::Folder;
use super::install::{Need, install_missing, plain_tool};
use super::process::{Account, run};

/// Our own, so that the machine's openssl.cnf has no say.
const CONFIG: &str = "\
[req]
distinguished_name = name
prompt = no
[name]
CN = Pawl test
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1
";
const NEW_KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
const LIMIT: Duration = Duration::from_secs(60);

/// Files in PEM form.
pub(super) struct Certificate {
    pub(super) authority: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Makes the files in `<folder>/tls`, which belongs to the account; the authority is readable by all.
pub(super) fn certificate(folder: &Folder, account: Account) -> Result<Certificate, String> {
    install_missing(&[Need::OpenSsl])?;
    let room = folder.room("tls", account)?;
    folder.file("tls/config", CONFIG, account)?;
    let requests = [
        format!("req -x509 {NEW_KEY} -config config -extensions ca -days 3 -keyout ca.key -out ca.pem"),
        format!("req {NEW_KEY} -config config -subj /CN=localhost -keyout server.key -out server.csr"),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile config -extensions server \
         -days 3 -out server.pem"
            .to_string(),
    ];
    for request in requests {
        openssl(&room, account, &request)?;
    }
    let authority = folder.path().join("ca.pem");
    fs::copy(room.join("ca.pem"), &authority)
        .and_then(|_| fs::set_permissions(&authority, Permissions::from_mode(0o644)))
        .map_err(|error| format!("copying {}: {error}", authority.display()))?;
    Ok(Certificate {
        authority,
        certificate: room.join("server.pem"),
        key: room.join("server.key"),
    })
}

fn openssl(room: &Path, account: Account, request: &str) -> Result<(), String> {
    let mut command = account.command(plain_tool("openssl")?, "KILL");
    command.args(request.split_whitespace()).current_dir(room);
    run(&format!("openssl {request}"), command, "", LIMIT).map(drop)
}
