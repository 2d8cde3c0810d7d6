//! Logins and certificates.

use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudainfer_brokers::{Counts, Options, TlsFiles, broker};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::brokers::{ALL, Broker, Guard, Kind};
use crate::feeding::{Feed, options};
use crate::webhooks::{ids, server_with};

const SECRET: &str = "secret7";

pub fn login(folder: &Path, password: &str) -> PathBuf {
    let file = folder.join(format!("login-{}", password.len()));
    std::fs::write(&file, format!("me\n{password}\n")).unwrap();
    file
}

#[test]
fn a_login_that_is_refused_is_an_error_without_the_password_and_a_right_one_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ALL {
        let guard = Guard { login: Some(("me".into(), SECRET.into())), tls: None };
        let mut broker = Broker::new(kind, guard);
        broker.start();
        for file in [None, Some(login(folder.path(), "wrong-one"))] {
            let how = Options { credentials: file, ..options(&broker.location()) };
            let mut feed = Feed::start(&how);
            let said = format!("{} {:?}", feed.refusal(), feed.said.lock().unwrap());
            assert!(!said.contains("wrong-one"), "{said}");
        }
        if kind != Kind::Mosquitto {
            let how =
                Options { credentials: Some(login(folder.path(), SECRET)), ..options(&broker.location()) };
            Feed::start(&how).feed(100);
        }
    }
}

/// An authority, and a certificate of it with its key, as files.
pub struct Certificates {
    pub ca: PathBuf,
    pub cert: PathBuf,
    pub key: PathBuf,
}

pub fn certificates(folder: &Path, name: &str) -> Certificates {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, format!("{name} authority"));
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["localhost", "127.0.0.1"].map(str::to_owned)).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let cert = params.signed_by(&key, &authority).unwrap();
    let file = |kind: &str, text: String| {
        let path = folder.join(format!("{name}.{kind}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    Certificates {
        ca: file("ca", authority.pem()),
        cert: file("cert", cert.pem()),
        key: file("key", key.serialize_pem()),
    }
}

#[test]
fn only_the_right_certificates_let_messages_through() {
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong] = ["right", "wrong"].map(|name| certificates(folder.path(), name));
    for kind in ALL {
        let tls = [&right.ca, &right.cert, &right.key].map(Clone::clone);
        let mut broker = Broker::new(kind, Guard { login: None, tls: Some(tls) });
        broker.start();
        let files = |ca: &Certificates, own: Option<&Certificates>| TlsFiles {
            ca: Some(ca.ca.clone()),
            cert: own.map(|own| own.cert.clone()),
            key: own.map(|own| own.key.clone()),
        };
        for (files, ours) in [
            (files(&wrong, Some(&right)), true),
            (files(&right, None), false),
            (files(&right, Some(&wrong)), false),
        ] {
            let how = Options { tls: files, ..options(&broker.location()) };
            let mut feed = Feed::start(&how);
            let said = feed.refusal();
            // What the broker says of our certificate is its own business.
            assert!(!ours || said.contains("UnknownIssuer"), "{kind:?}: {said}");
            assert_eq!(feed.counts.acknowledged.get(), 0);
        }
        let how = Options { tls: files(&right, Some(&right)), ..options(&broker.location()) };
        Feed::start(&how).feed(100);
    }
}

/// What a webhook makes of a connection: TLS with a client's certificate.
fn secured(
    certificates: &Certificates,
) -> impl Fn(TcpStream) -> Option<StreamOwned<ServerConnection, TcpStream>> + use<> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain =
        |file: &Path| CertificateDer::pem_file_iter(file).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain(&certificates.ca));
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(chain(&certificates.cert), PrivateKeyDer::from_pem_file(&certificates.key).unwrap())
        .unwrap();
    let config = Arc::new(config);
    move |mut stream| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        if connection.complete_io(&mut stream).is_ok() {
            return Some(StreamOwned::new(connection, stream));
        }
        // As servers do: what the client still sends is read, or the system would reset the connection and drop the alert.
        let _ = stream.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        None
    }
}

#[test]
fn a_webhook_over_tls_takes_messages_only_with_the_right_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong] = ["right", "wrong"].map(|name| certificates(folder.path(), name));
    let (port, taken) = server_with(secured(&right), |_, _| 204);
    let location = format!("https://localhost:{port}/hook?token=hidden");
    let tls = |ca: &Certificates, own: &Certificates| TlsFiles {
        ca: Some(ca.ca.clone()),
        cert: Some(own.cert.clone()),
        key: Some(own.key.clone()),
    };
    for files in [tls(&wrong, &right), tls(&right, &wrong)] {
        Feed::start(&Options { tls: files, ..options(&location) }).refusal();
    }
    assert!(taken.lock().unwrap().is_empty());
    let mut feed = Feed::start(&Options { tls: tls(&right, &right), ..options(&location) });
    feed.feed(100);
    assert_eq!(ids(&taken), (0..100).collect::<Vec<_>>());
}

#[test]
fn what_is_wrong_with_the_options_is_said_before_anything_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    std::fs::write(&none, "no certificate").unwrap();
    let ca = |file: &Path| TlsFiles { ca: Some(file.to_owned()), ..TlsFiles::default() };
    let locked = crate::feeding::spooled("redis://h/x", folder.path(), 1 << 20);
    let _holder = Feed::start(&locked);
    for (how, parts) in [
        (options("amqp://h/x"), &["'amqp'"][..]),
        (options("mqtt:///x"), &["no host"]),
        (options("mqtt://h/a/#"), &["wildcard"]),
        (options("nats://h/a%20b"), &["space"]),
        (options("mqtt://me:secret@h/x"), &["credentials"]),
        (Options { tls: ca(&none), ..options("mqtts://h/x") }, &["tls-ca", "no certificate"]),
        (Options { tls: ca(&none), ..options("mqtt://h/x") }, &["tls-ca", "not encrypted"]),
        (
            Options { credentials: Some("/nowhere/login".into()), ..options("mqtt://h/x") },
            &["'/nowhere/login'"],
        ),
        (Options { credentials: Some(none.clone()), ..options("unix:/x") }, &["no login"]),
        (locked.clone(), &["in use by another part of this process"]),
        (
            Options { spool: Some(("/dev/null/x".into(), 1 << 20)), ..options("mqtt://h/x") },
            &["cannot be used"],
        ),
    ] {
        let said = broker(&how, &Arc::<Counts>::default(), |_| ()).err().unwrap().to_string();
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
