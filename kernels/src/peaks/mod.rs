//! From confidence maps to sub-pixel points in the frame.
