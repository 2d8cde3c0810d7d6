"""The speed of labelling videos beside sleap-nn's own: `scripts/bench --sleap`."""
