"""What runs for hours, and whether it grows: a pipeline and the service, with changes and restarts."""
