"""An RTSP camera on the loopback: camera.py PORT. Prints a line when it can be asked."""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    "( videotestsrc is-live=true pattern=ball ! video/x-raw,width=160,height=120,framerate=5/1"
    " ! x264enc speed-preset=ultrafast tune=zerolatency key-int-max=5 threads=1 ! rtph264pay name=pay0 )"
)
factory.set_shared(True)
server.get_mount_points().add_factory("/video", factory)
if server.attach(None) == 0:
    sys.exit("the port is in use")
print("ready", flush=True)
GLib.MainLoop().run()
