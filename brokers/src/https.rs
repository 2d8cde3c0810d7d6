//! TLS for clients of HTTP: webhooks, and whoever else of this process posts something.

use std::path::Path;
use std::sync::Arc;

use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::tls::{Tls, TlsError, TlsFiles};

/// Why there is no TLS; a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum HttpsError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("TLS cannot be used: {0}")]
    Client(#[from] ureq::Error),
}

/// What a client needs that trusts the authorities in the file `ca`, which the user has named by `setting`, or without one those
/// of the system.
///
/// # Errors
/// The file is none of certificates, or the system has none.
pub fn trusting(setting: &'static str, ca: Option<&Path>) -> Result<TlsConfig, HttpsError> {
    let files = TlsFiles { ca: ca.map(Path::to_owned), ..TlsFiles::default() };
    Ok(config(&files.read_as(setting)?)?)
}

/// The same of files that have been read.
pub(crate) fn config(tls: &Tls) -> Result<TlsConfig, ureq::Error> {
    let certificates = |pem: &[u8]| -> Result<Vec<Certificate<'static>>, ureq::Error> {
        let items = parse_pem(pem).map(|item| match item {
            Ok(ureq::tls::PemItem::Certificate(certificate)) => Ok(Some(certificate)),
            Ok(_) => Ok(None),
            Err(e) => Err(e),
        });
        items.filter_map(Result::transpose).collect()
    };
    let roots = match &tls.ca {
        Some(ca) => RootCerts::new_with_certs(&certificates(ca)?),
        None => {
            let system = rustls_native_certs::load_native_certs().certs;
            RootCerts::new_with_certs(
                &system.iter().map(|cert| Certificate::from_der(cert).to_owned()).collect::<Vec<_>>(),
            )
        }
    };
    let client = match &tls.client {
        Some((cert, key)) => {
            Some(ClientCert::new_with_certs(&certificates(cert)?, PrivateKey::from_pem(key)?))
        }
        None => None,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        TlsConfig::builder().provider(TlsProvider::Rustls).unversioned_rustls_crypto_provider(provider);
    Ok(config.root_certs(roots).client_cert(client).build())
}
