//! How clients of HTTP find the addresses of hosts.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// The most addresses of one host that are tried.
const MOST: usize = 16;

/// A client of HTTP, as [`Config::new_agent`] makes one, but for this: where the system has no thread in which a name can be looked up
/// for a limited time, a request fails, while ureq's own would panic.
pub fn agent(config: Config) -> Agent {
    Agent::with_parts(config, DefaultConnector::new(), Lookup)
}

#[derive(Debug)]
struct Lookup;

impl Resolver for Lookup {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::BadUri(uri.to_string()));
        };
        let address = DefaultResolver::host_and_port(scheme, authority);
        let address = address.ok_or_else(|| Error::BadUri(uri.to_string()))?;
        let host = authority.host().trim_matches(['[', ']']);
        let found = if host.parse::<IpAddr>().is_ok() {
            // Nobody is asked.
            address.to_socket_addrs()?
        } else {
            let (tell, result) = sync_channel(1);
            let look = move || drop(tell.send(address.to_socket_addrs()));
            Builder::new().name("host name".to_owned()).spawn(look)?;
            result.recv_timeout(*timeout.after).map_err(|_| Error::Timeout(timeout.reason))??
        };
        let mut addresses = self.empty();
        config.ip_family().keep_wanted(found).take(MOST).for_each(|address| addresses.push(address));
        if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}
