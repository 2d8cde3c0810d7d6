//! TLS, clients' certificates, and settings with which the server does not listen.

use std::path::Path;
use std::process::Command;

use cudainfer_serve::config::Config;
use cudainfer_serve::control::Listener;

use crate::certificates::certificates;
use crate::service::{Service, configuration};

/// Sends a request with curl, as a user would.
pub(crate) fn curl(folder: &Path, url: &str, arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .current_dir(folder)
        .args([
            "--silent",
            "--show-error",
            "--max-time",
            "20",
            "--cacert",
            "ca.pem",
            "--write-out",
            " %{http_code}",
        ])
        .args(arguments)
        .arg(url)
        .output()
        .unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn with_client_ca_only_clients_with_a_certificate_are_answered() {
    let folder = cudainfer_tests::scratch("certificates");
    certificates(&folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let tls = format!(
        "tls-cert = '{}'\ntls-key = '{}'\nclient-ca = '{}'",
        file("server.pem"),
        file("server.key"),
        file("ca.pem")
    );
    let service = Service::start(&configuration(&tls));
    let url = format!("{}/livez", service.url);
    assert!(url.starts_with("https://"), "{url}");
    let with = curl(&folder, &url, &["--cert", "client.pem", "--key", "client.key"]);
    assert_eq!(with, "{\"status\":\"ok\"} 200");
    let without = curl(&folder, &url, &[]);
    assert!(!without.contains("200"), "{without}");
}

#[test]
fn what_cannot_be_used_is_reported_before_anything_starts() {
    let folder = cudainfer_tests::scratch("unusable");
    certificates(&folder);
    std::fs::write(folder.join("short"), "abc").unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    let read = |server: &str| {
        Config::read(&format!("[server]\nlisten = '127.0.0.1:0'\n{server}\n"), Path::new("serve.toml"))
    };
    let error = read(&format!("token-file = '{}'", file("short"))).err().unwrap().to_string();
    assert!(error.contains("its first line has 3 characters"), "{error}");
    for (server, part) in [
        (
            format!("tls-cert = '{}'\ntls-key = '{}'", file("short"), file("server.key")),
            "it has no certificate in PEM",
        ),
        (
            format!("tls-cert = '{}'\ntls-key = '{}'", file("server.pem"), file("ca.pem")),
            "it has no private key in PEM",
        ),
        (format!("tls-cert = '{}'\ntls-key = '{}'", file("server.pem"), file("client.key")), "do not fit"),
    ] {
        let config = read(&server).unwrap();
        let error = Listener::open(&config.server).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("[server]\nlisten = '{}'\n", taken.local_addr().unwrap());
    let config = Config::read(&text, Path::new("serve.toml")).unwrap();
    let error = Listener::open(&config.server).err().unwrap().to_string();
    assert!(error.contains("a port that no other process has"), "{error}");
}
