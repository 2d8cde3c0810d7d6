//! What the log has of webhooks that refuse events.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use cudainfer_tests::{model, root, scratch};

use crate::service::{Service, command};

/// A webhook that answers with this status. Returns its address.
fn webhook(status: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let lines = reader.by_ref().lines().map_while(Result::ok);
            let head: Vec<String> =
                lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
            let Some(length) = head.iter().find_map(|line| line.strip_prefix("content-length: ")) else {
                continue;
            };
            reader.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
            let _ =
                write!(connection, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    address
}

#[test]
fn a_webhook_that_refuses_is_named_with_its_status_and_without_its_secrets() {
    let (file, token) = (scratch("notify-log").join("serve.toml"), scratch("notify-token").join("token"));
    std::fs::write(&token, "secret-token").unwrap();
    let hooks = [401, 403, 404, 500].map(|status| (status, webhook(status)));
    let tables: Vec<String> = hooks
        .iter()
        .map(|(_, address)| {
            format!(
                "[[notify]]\nurl = 'http://{address}/hooks/secret-path?key=secret-key'\ntoken-file = '{}'\n",
                token.display()
            )
        })
        .collect();
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\n\
         [pipeline.count]\nline = '''fusedpreproc device=cpu ! trtinfer model={} device=cpu ! gpunms ! tracker \
         ! zonecount units=fraction'''\n\
         [[source]]\nname = 'door'\nuri = 'test://red?width=320&height=240&rate=15'\nzone-units = 'fraction'\n\
         zones = [{{ name = 'all', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }}]\n{}",
        model("detector"),
        tables.join("")
    );
    std::fs::write(&file, text).unwrap();
    let mut command = command();
    if std::env::var_os("VIRTUAL_ENV").is_none() {
        command.env("VIRTUAL_ENV", root().join(".venv"));
    }
    let service = Service::start_with(&mut command, &file);
    for (place, (status, address)) in hooks.iter().enumerate() {
        let line = service.logs(&format!("it answers with the status {status}"), 1);
        assert!(
            line.contains(&format!("[[notify]] {}: ", place + 1))
                && line.contains(&format!("http://{address}")),
            "{line}"
        );
        let refuses = format!("the webhook at http://{address} refuses events");
        assert_eq!(line.contains(&refuses), *status != 500, "{line}");
    }
    assert_eq!(service.count("secret"), 0, "no line has a secret");
}
