//! What is shown: a bar on a terminal, lines elsewhere.

use std::process::Command;

use crate::process::{command, ends, folder};
use crate::videos::{arguments, make};

#[test]
fn a_terminal_shows_a_bar_and_everything_else_gets_lines() {
    let folder = folder();
    let all = make(&folder, 3);
    let plain = command(&folder, &[&["--set", "pace=20000"], &arguments(&all)[..]].concat());
    let (code, log) = ends(&mut command(&folder, &[&["--set", "pace=20000"], &arguments(&all)[..]].concat()));
    assert_eq!(code, 0, "{log}");
    assert!(log.lines().all(|line| line.starts_with("cudainfer-batch: ")), "{log}");
    assert!(log.contains("v1: 20 frames, ") && !log.contains('\u{1b}'), "{log}");

    // util-linux's script gives a program a terminal of its own.
    let words = [plain.get_program()].into_iter().chain(plain.get_args()).map(|word| word.to_string_lossy());
    let line = words.map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &format!("stty cols 120; {line} --overwrite"), "/dev/null"]).current_dir(&folder);
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    std::fs::remove_dir_all(folder.join("out")).unwrap();
    let output = terminal.env("TERM", "xterm").output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains('\u{1b}') && shown.contains(" of 3 videos, "), "{shown}");
    assert!(shown.contains("frames/s, 0:0") && shown.contains(" left"), "{shown}");
    assert!(!shown.contains("v1: 20 frames"), "the bar has that: {shown}");
    assert!(shown.contains("3 of 3 videos complete (0 of them before)"), "{shown}");
}
