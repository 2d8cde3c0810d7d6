//! A camera that a firewall cuts off: nftables drops or refuses its packets. The test has a network namespace of its own.

use std::io::Write;
use std::process::{Command, Stdio};

use cudainfer_serve::config::Config;
use cudainfer_serve::fleet::Fleet;
use cudainfer_serve::stream::Reason;

use crate::camera::Camera;
use crate::{alone, frames_come_again, of, until};

/// Sets up the loopback of the network namespace, which needs nftables and the right to do so.
const NETWORK: &str = "ip link set lo up && nft add table inet cudainfer";

/// Replaces all rules by these.
fn set_rules(rules: &str) {
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let chain = "type filter hook input priority 0; policy accept;";
    write!(
        nft.stdin.take().unwrap(),
        "table inet cudainfer {{}}\ndelete table inet cudainfer\ntable inet cudainfer {{ chain input {{ {chain}\n{rules}\n}}\n}}\n"
    )
    .unwrap();
    assert!(nft.wait().unwrap().success(), "{rules}");
}

#[test]
fn cameras_that_a_firewall_cuts_off_come_back() {
    let tried = Command::new("unshare").args(["-n", "sh", "-c", NETWORK]).output();
    match tried {
        Ok(output) if output.status.success() => {}
        Ok(output) => return eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(e) => return eprintln!("skipped: unshare cannot be run: {e}"),
    }
    let _alone = alone();
    let status = Command::new("unshare")
        .args(["-n", "sh", "-c", &format!("{NETWORK} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(cudainfer_tests::arguments_of_test(module_path!(), "in_a_network_of_its_own"))
        .status();
    assert!(status.unwrap().success());
}

#[test]
#[ignore = "changes the rules of the network: cameras_that_a_firewall_cuts_off_come_back runs it in one of its own"]
fn in_a_network_of_its_own() {
    cudainfer_tests::init();
    let cameras: Vec<_> = (0..2).map(|_| Camera::start()).collect();
    let mut text =
        "[restart]\nstall = 3\nfirst = 0.5\nlongest = 2\nsteady = 3\n[pipeline.plain]\nline = \"identity\"\n"
            .to_owned();
    for ((name, stall), camera) in [("cut", 3), ("stays", 60)].iter().zip(&cameras) {
        text += &format!(
            "[[source]]\nname = \"{name}\"\nuri = \"{}\"\nsource = {{ protocols = \"tcp\", latency = 50 }}\n\
             restart = {{ stall = {stall} }}\n",
            camera.uri()
        );
    }
    let config = Config::read(&text, "serve.toml".as_ref()).unwrap_or_else(|wrong| panic!("{wrong}"));
    let fleet = Fleet::start(config, std::sync::mpsc::channel().0).unwrap_or_else(|wrong| panic!("{wrong}"));
    until("both play", || ["cut", "stays"].iter().all(|name| of(&fleet, name).frames > 5));
    let port = cameras[0].relay_port();
    // First nothing comes from the camera; then packets to it are refused.
    for (rule, reason) in [
        (format!("tcp sport {port} drop"), Reason::Stall),
        (format!("tcp dport {port} reject with tcp reset"), Reason::Connection),
    ] {
        let before: u64 = of(&fleet, "cut").restarts.values().sum();
        set_rules(&rule);
        until("it is started again, and that fails", || {
            of(&fleet, "cut").restarts.values().sum::<u64>() > before + 1
        });
        assert!(of(&fleet, "cut").restarts.contains_key(&reason), "{rule}: {:?}", of(&fleet, "cut"));
        set_rules("");
        frames_come_again(&fleet, "cut");
    }
    let stays = of(&fleet, "stays");
    assert!(stays.restarts.is_empty() && stays.last_error.is_none(), "{stays:?}");
    assert_eq!(fleet.drain(), [""; 0], "all end in time");
}
