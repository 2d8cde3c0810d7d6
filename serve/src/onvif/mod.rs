//! Cameras on the network that speak ONVIF: which ones there are, and the addresses of their video.
//!
//! Cameras answer to a probe by WS-Discovery, with datagrams; then each is asked by SOAP over HTTP for its profiles, and for the
//! RTSP address of each. Whoever is on the network can answer, so everything that comes is bounded and nothing of it is trusted:
//! only an address that has answered is contacted, and only at that address.

mod camera;
mod found;
mod interfaces;
mod login;
mod probe;
mod profiles;
mod soap;
mod xml;

pub use camera::Camera;
pub use found::{Found, NotFound};
pub use login::Login;
pub use probe::{Discovered, discover};
pub use profiles::profiles;
