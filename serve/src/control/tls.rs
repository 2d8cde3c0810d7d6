//! TLS by rustls with ring, as for connections to brokers; with `client-ca` both sides show certificates.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

/// Reads certificate, key and the authorities of clients.
///
/// # Errors
/// A sentence that names the key of `[server]` and the file.
pub fn config(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<ServerConfig, String> {
    let chain = certificates("tls-cert", cert)?;
    let private = PrivateKeyDer::from_pem_slice(&read("tls-key", key)?)
        .map_err(|e| format!("tls-key {}: it has no private key in PEM: {e}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be used: {e}"))?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates("client-ca", path)? {
                roots.add(certificate).map_err(|e| format!("client-ca {}: {e}", path.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|e| format!("client-ca {}: {e}", path.display()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, private)
        .map_err(|e| format!("tls-cert {} and tls-key {} do not fit: {e}", cert.display(), key.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The bytes of a regular file: reading a FIFO would block the start of the service.
fn read(name: &str, path: &Path) -> Result<Vec<u8>, String> {
    let text = cudainfer_files::text(path);
    text.map(String::into_bytes).map_err(|e| format!("{name} {}: it cannot be read: {e}", path.display()))
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let text = read(name, path)?;
    match CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>() {
        Ok(list) if !list.is_empty() => Ok(list),
        Ok(_) => Err(format!("{name} {shown}: it has no certificate in PEM")),
        Err(e) => Err(format!("{name} {shown}: it cannot be read as PEM: {e}")),
    }
}
