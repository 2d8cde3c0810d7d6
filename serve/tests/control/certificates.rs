//! An authority, and the certificates that it has signed.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// Writes an authority's certificate and, signed by it, one of the server and one of a client.
pub(crate) fn certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // rcgen gives all certificates the same name: with that name, a certificate would look self-signed.
    params.distinguished_name.push(DnType::CommonName, "authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        let params =
            CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into(), "cams.example".into()])
                .unwrap();
        std::fs::write(folder.join(format!("{name}.pem")), params.signed_by(&key, &authority).unwrap().pem())
            .unwrap();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}
