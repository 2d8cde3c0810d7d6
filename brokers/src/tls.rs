//! Certificates, read and checked before a connection is made.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

/// The files, as the user names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of authorities that are trusted instead of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate, with those between it and its authority.
    pub cert: Option<PathBuf>,
    /// The client's key.
    pub key: Option<PathBuf>,
}

/// Why there is no encryption; each a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum TlsError {
    #[error("{property} '{file}' cannot be read: {reason}. Set it to a file in PEM form")]
    File { property: &'static str, file: String, reason: io::Error },
    #[error("{property} '{file}' has no {what} in PEM form: it should have a line '-----BEGIN {begin}-----'")]
    Nothing { property: &'static str, file: String, what: &'static str, begin: &'static str },
    #[error("{property} '{file}' has a {what} that is damaged: {reason}")]
    Damaged { property: &'static str, file: String, what: &'static str, reason: String },
    #[error("tls-cert and tls-key belong together, but only one of them is set. Set both or none")]
    Half,
    #[error("tls-cert '{cert}' and tls-key '{key}' cannot be used: {reason}")]
    Pair { cert: String, key: String, reason: rustls::Error },
    #[error("{0} is set, but '{1}' is not encrypted. Set location to a URI with {2}")]
    Plain(&'static str, String, String),
    #[error("TLS cannot be used: {0}")]
    Provider(rustls::Error),
    #[error(
        "the system has no certificates of authorities. Install its ca-certificates, or name a file with those to trust"
    )]
    NoSystem,
}

/// What a connection needs.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub config: Arc<ClientConfig>,
    /// The same for clients that make their configuration themselves; none where the system's are trusted.
    pub ca: Option<Pem>,
    pub client: Option<(Pem, Pem)>,
}

/// A file's text.
pub(crate) type Pem = Arc<[u8]>;

impl TlsFiles {
    /// The property that is set, if any is.
    pub(crate) fn set(&self) -> Option<&'static str> {
        let Self { ca, cert, key } = self;
        [("tls-ca", ca), ("tls-cert", cert), ("tls-key", key)]
            .into_iter()
            .find_map(|(name, file)| file.as_ref().and(Some(name)))
    }

    /// Reads the files.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn read(&self) -> Result<Tls, TlsError> {
        self.read_as("tls-ca")
    }

    /// The same where the authorities' file has been named by this setting.
    pub(crate) fn read_as(&self, ca: &'static str) -> Result<Tls, TlsError> {
        let ca = self.ca.as_deref().map(|file| PemFile::read(ca, file)).transpose()?;
        let client = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                Some((PemFile::read("tls-cert", cert)?, PemFile::read("tls-key", key)?))
            }
            (None, None) => None,
            _ => return Err(TlsError::Half),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(TlsError::Provider)?.with_root_certificates(roots(ca.as_ref())?);
        let config = match &client {
            None => config.with_no_client_auth(),
            Some((cert, key)) => {
                config.with_client_auth_cert(cert.certificates()?, key.key()?).map_err(|reason| {
                    TlsError::Pair { cert: cert.file.clone(), key: key.file.clone(), reason }
                })?
            }
        };
        let client = client.map(|(cert, key)| (cert.pem, key.pem));
        Ok(Tls { config: Arc::new(config), ca: ca.map(|ca| ca.pem), client })
    }
}

fn roots(ca: Option<&PemFile>) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    match ca {
        Some(file) => {
            for certificate in file.certificates()? {
                store.add(certificate).map_err(|e| file.damaged("certificate", &e))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err(TlsError::NoSystem);
            }
        }
    }
    Ok(store)
}

/// A file that has been read.
struct PemFile {
    property: &'static str,
    file: String,
    pem: Pem,
}

impl PemFile {
    fn read(property: &'static str, path: &Path) -> Result<Self, TlsError> {
        let file = path.display().to_string();
        match cudainfer_files::text(path) {
            Ok(text) => Ok(Self { property, file, pem: text.into_bytes().into() }),
            Err(reason) => Err(TlsError::File { property, file, reason }),
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.pem).collect();
        let certificates = read.map_err(|e| self.damaged("certificate", &e))?;
        if certificates.is_empty() {
            return Err(self.nothing("certificate", "CERTIFICATE"));
        }
        Ok(certificates)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        use rustls::pki_types::pem::Error;
        PrivateKeyDer::from_pem_slice(&self.pem).map_err(|e| match e {
            Error::NoItemsFound => self.nothing("private key", "PRIVATE KEY"),
            e => self.damaged("private key", &e),
        })
    }

    fn nothing(&self, what: &'static str, begin: &'static str) -> TlsError {
        TlsError::Nothing { property: self.property, file: self.file.clone(), what, begin }
    }

    fn damaged(&self, what: &'static str, reason: &dyn std::error::Error) -> TlsError {
        TlsError::Damaged {
            property: self.property,
            file: self.file.clone(),
            what,
            reason: reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_none_is_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let cert = file("cert", &made.cert.pem());
        let key = file("key", &made.signing_key.serialize_pem());
        let [wrong, none] = [file("wrong", &other), file("none", "no certificate")];
        let broken = file("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let files = |ca: &Option<PathBuf>, cert: &Option<PathBuf>, key: &Option<PathBuf>| TlsFiles {
            ca: ca.clone(),
            cert: cert.clone(),
            key: key.clone(),
        };
        assert!(files(&cert, &cert, &key).read().is_ok());
        for (bad, parts) in [
            (
                files(&Some("/nowhere/ca".into()), &None, &None),
                &["tls-ca", "'/nowhere/ca'", "cannot be read"][..],
            ),
            (files(&none, &None, &None), &["tls-ca", "no certificate"]),
            (files(&broken, &None, &None), &["tls-ca", "damaged"]),
            (files(&cert, &cert, &None), &["tls-cert", "tls-key", "both"]),
            (files(&cert, &cert, &cert), &["tls-key", "no private key"]),
            (files(&cert, &cert, &wrong), &["tls-cert", "tls-key", "cannot be used"]),
        ] {
            let said = bad.read().unwrap_err().to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
    }
}
