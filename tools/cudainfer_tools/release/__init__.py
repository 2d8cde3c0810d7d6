"""What is packed: tried where it is installed."""
