//! What passes make of graphs.
