//! `[describe]` as an operator sees it: what `--check` says about the table, and that the key is in no line of the log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cudainfer_tests::{free_port, model, root, scratch};
use rustix::process::Signal;

use crate::service::{Service, check, command};

const KEY: &str = "sk-a-secret-key";

/// A service whose events are described there; its pipeline and source follow.
fn described(state: &Path, port: u16, key: &Path) -> String {
    format!(
        "[server]\nlisten = '127.0.0.1:0'\nstate = '{}'\n\
         [describe]\nurl = 'http://127.0.0.1:{port}/v1'\nmodel = 'a-model'\nkey-file = '{}'\n",
        state.display(),
        key.display()
    )
}

#[test]
fn the_table_is_checked_and_nobody_is_asked() {
    let folder = scratch("describe-check");
    let key = folder.join("key");
    let write = |text: &str, mode| {
        std::fs::write(&key, text).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let plain = "[pipeline.plain]\nline = 'identity'\n[[source]]\nname = 'door'\nuri = 'test://ball'\n";
    let text = described(&folder, free_port(), &key) + plain;
    write(KEY, 0o600);
    let output = check(&text);
    assert!(output.status.success(), "nobody listens there, which is no matter of --check: {output:?}");
    let wrong = |text: &str, part: &str| {
        let output = check(text);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{errors}");
        assert!(errors.contains(part) && !errors.contains("sk-"), "{errors}");
    };
    write(KEY, 0o604);
    wrong(&text, "serve.toml:7: key-file");
    wrong(
        &text,
        "can be read by every user of this machine, who can use the key. Take that permission away: chmod o-rwx",
    );
    write("", 0o600);
    wrong(&text, "its first line is no key");
    std::fs::remove_file(&key).unwrap();
    wrong(&text, "cannot be read");
    wrong(&text.replace("a-model", ""), "serve.toml:6: model is not set");
    let in_the_file = text.replace("key-file = '", "key = 'sk-in-the-file' # '");
    wrong(&in_the_file, "serve.toml:7: there is no key 'key'");
}

#[test]
fn no_line_of_the_log_has_the_key_also_if_the_server_sends_it_back() {
    let folder = scratch("describe-log");
    let key = folder.join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let lines = reader.by_ref().lines().map_while(Result::ok);
            let head: Vec<_> =
                lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
            assert!(head.contains(&format!("authorization: bearer {KEY}")), "{head:?}");
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            reader.read_exact(&mut vec![0; length.unwrap()]).unwrap();
            let body = format!("{{\"error\": {{\"message\": \"what is {KEY}?\"}}}}");
            let head = format!("HTTP/1.1 400 x\r\nx-key: {KEY}\r\ncontent-length: {}\r\n\r\n", body.len());
            connection.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    let file = scratch("describe-log-serve").join("serve.toml");
    let counting = format!(
        "[pipeline.count]\nline = '''fusedpreproc device=cpu ! trtinfer model={} device=cpu ! gpunms ! tracker \
         ! zonecount units=fraction'''\n\
         [[source]]\nname = 'door'\nuri = 'test://red?width=320&height=240&rate=15'\nzone-units = 'fraction'\n\
         zones = [{{ name = 'all', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }}]\n",
        model("detector")
    );
    std::fs::write(&file, described(&folder, port, &key) + &counting).unwrap();
    let mut command = command();
    // Where ONNX Runtime is for this test itself.
    if std::env::var_os("VIRTUAL_ENV").is_none() {
        command.env("VIRTUAL_ENV", root().join(".venv"));
    }
    let mut service = Service::start_with(&mut command, &file);
    let line = service.logs("[describe] events without words: ", 1);
    assert!(
        line.contains("answers with the status 400: it does not take the request ('what is ***?')"),
        "{line}"
    );
    service.signal(Signal::TERM);
    assert!(service.ends().success());
    assert_eq!(service.count(KEY), 0);
}
