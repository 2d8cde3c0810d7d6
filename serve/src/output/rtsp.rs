//! The RTSP server: each stream with `rtsp = true` as `rtsp://ADDRESS/NAME`, encoded only while somebody watches.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use gst::glib;
use gst::prelude::*;
use gst_app::AppSrc;
use gst_rtsp_server::prelude::*;
use gst_rtsp_server::{RTSPAuth, RTSPMediaFactory, RTSPMountPoints, RTSPServer, RTSPToken};

use super::feed::{self, Feed};
use crate::unpoisoned::lock;

/// The user that clients give with the token as password.
pub const USER: &str = "cudainfer";

/// Checks that this process can listen on an address: gst-rtsp-server has the same error for every failure.
///
/// # Errors
/// A sentence.
pub fn check_address(address: SocketAddr) -> Result<(), String> {
    std::net::TcpListener::bind(address).map(drop).map_err(|error| refused(address, &error.to_string()))
}

fn refused(address: SocketAddr, why: &str) -> String {
    format!(
        "RTSP cannot be served at {address}: {why}. Set rtsp in [server] to an address of this machine and a port that is free"
    )
}

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Rtsp {
    mounts: RTSPMountPoints,
    /// The frames of each stream. When a stream changes, its new feed takes the place of the earlier one.
    feeds: Mutex<HashMap<String, Weak<Feed>>>,
    address: SocketAddr,
    protected: bool,
    main_loop: glib::MainLoop,
    thread: Option<JoinHandle<()>>,
}

impl Rtsp {
    /// Listens on `address`. With a token, clients need it as the password of [`USER`] (digest or basic).
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on.
    pub fn start(address: SocketAddr, token: Option<&str>) -> Result<Self, String> {
        check_address(address)?;
        let refused = |why: &str| refused(address, why);
        let server = RTSPServer::new();
        server.set_address(&address.ip().to_string());
        server.set_service(&address.port().to_string());
        if let Some(token) = token {
            let auth = RTSPAuth::new();
            let role = RTSPToken::builder().field("media.factory.role", USER).build();
            auth.add_basic(RTSPAuth::make_basic(USER, token).as_str(), &role);
            server.set_auth(Some(&auth));
        }
        let mounts = server.mount_points().ok_or_else(|| refused("it has no mount points"))?;
        let context = glib::MainContext::new();
        let main_loop = glib::MainLoop::new(Some(&context), false);
        let source = server
            .create_source(gst_rtsp_server::gio::Cancellable::NONE)
            .map_err(|error| refused(error.message()))?;
        source.attach(Some(&context));
        let port = u16::try_from(server.bound_port()).unwrap_or(address.port());
        let running = main_loop.clone();
        let serve = move || {
            let _served = context.with_thread_default(|| running.run());
            drop(server);
        };
        let thread = std::thread::Builder::new().name("rtsp-server".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| refused(&error.to_string()))?;
        Ok(Self {
            mounts,
            feeds: Mutex::default(),
            address: SocketAddr::new(address.ip(), port),
            protected: token.is_some(),
            main_loop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a stream's frames as `/NAME`.
    pub fn mount(&self, stream: &str, encoder: &str, drawn: bool, feed: &Arc<Feed>) {
        let factory = RTSPMediaFactory::new();
        factory.set_launch(&format!(
            "( {} {} ! {encoder} ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1 )",
            feed::SOURCE,
            feed::before_encoder(drawn)
        ));
        factory.set_shared(true);
        if self.protected {
            let may = gst::Structure::builder(USER)
                .field("media.factory.access", true)
                .field("media.factory.construct", true)
                .build();
            factory.add_role_from_structure(&may);
        }
        let (feed, of_stream) = (Arc::downgrade(feed), Arc::downgrade(feed));
        factory.connect_media_configure(move |_, media| {
            let (Some(feed), Some(source)) = (feed.upgrade(), frames_of(media)) else { return };
            feed.add(source.clone());
            let feed = Arc::downgrade(&feed);
            media.connect_unprepared(move |_| {
                if let Some(feed) = feed.upgrade() {
                    feed.remove(&source);
                }
            });
        });
        self.feeds().insert(stream.to_owned(), of_stream);
        self.mounts.add_factory(&path(stream), factory);
    }

    /// Ends serving the stream, unless it has another feed by now.
    pub fn unmount(&self, stream: &str, feed: &Arc<Feed>) {
        let mut feeds = self.feeds();
        if feeds.get(stream).is_some_and(|current| current.as_ptr() == Arc::as_ptr(feed)) {
            feeds.remove(stream);
            self.mounts.remove_factory(&path(stream));
        }
    }

    fn feeds(&self) -> std::sync::MutexGuard<'_, HashMap<String, Weak<Feed>>> {
        lock(&self.feeds)
    }
}

fn path(stream: &str) -> String {
    format!("/{stream}")
}

fn frames_of(media: &gst_rtsp_server::RTSPMedia) -> Option<AppSrc> {
    media.element().downcast::<gst::Bin>().ok()?.by_name_recurse_up("frames").and_downcast()
}

impl Drop for Rtsp {
    fn drop(&mut self) {
        // In the loop itself: one that has not begun yet could not be ended from here.
        let main_loop = self.main_loop.clone();
        let end = glib::idle_source_new(None, glib::Priority::HIGH, move || {
            main_loop.quit();
            glib::ControlFlow::Break
        });
        end.attach(Some(&self.main_loop.context()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
