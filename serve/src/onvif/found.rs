//! Which addresses may be contacted: those of cameras that have answered a short while ago.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Camera;
use crate::unpoisoned::lock;

/// How long a camera may be asked after it has answered. Its address may be another device's one day.
const KNOWN_FOR: Duration = Duration::from_secs(600);
/// Cameras that are known at most: a device that answers under many names pushes out the oldest.
const MOST: usize = 1024;

/// The address is not, or no longer, one of a camera that was found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no camera was found at '{0:.128}' within the last {minutes} minutes: look for cameras again (POST /v1/discover), and take an xaddr of its answer",
    minutes = KNOWN_FOR.as_secs() / 60
)]
pub struct NotFound(pub String);

/// The cameras that have answered, by the address at which they are asked.
#[derive(Debug, Default)]
pub struct Found(Mutex<BTreeMap<String, (IpAddr, Instant)>>);

impl Found {
    /// Takes note of cameras.
    pub fn note(&self, cameras: &[Camera]) {
        let now = Instant::now();
        let mut known = lock(&self.0);
        known.retain(|_, (_, at)| at.elapsed() < KNOWN_FOR);
        known.extend(cameras.iter().map(|camera| (camera.xaddr.clone(), (camera.address, now))));
        while known.len() > MOST {
            let oldest = known.iter().min_by_key(|(_, (_, at))| *at).map(|(address, _)| address.clone());
            let Some(oldest) = oldest else { break };
            known.remove(&oldest);
        }
    }

    /// The network address of the camera that was found with this `xaddr`.
    ///
    /// # Errors
    /// There is none, or it was too long ago.
    pub fn host(&self, xaddr: &str) -> Result<IpAddr, NotFound> {
        let known = lock(&self.0);
        let camera = known.get(xaddr).filter(|(_, at)| at.elapsed() < KNOWN_FOR);
        camera.map(|(host, _)| *host).ok_or_else(|| NotFound(xaddr.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_answered_is_known_and_not_more_than_there_is_room_for() {
        let found = Found::default();
        let camera = |number: usize| Camera {
            id: String::new(),
            name: String::new(),
            hardware: String::new(),
            location: String::new(),
            address: "192.0.2.7".parse().unwrap(),
            xaddr: format!("http://192.0.2.7/{number}"),
        };
        assert!(found.host("http://192.0.2.7/0").unwrap_err().to_string().contains("POST /v1/discover"));
        found.note(&[camera(0)]);
        assert_eq!(found.host("http://192.0.2.7/0"), Ok("192.0.2.7".parse().unwrap()));
        assert!(found.host("http://192.0.2.7/0/").is_err());
        for number in 1..=MOST {
            found.note(&[camera(number)]);
        }
        assert!(found.host("http://192.0.2.7/0").is_err(), "the oldest has gone");
        assert!(found.host(&format!("http://192.0.2.7/{MOST}")).is_ok());
    }
}
