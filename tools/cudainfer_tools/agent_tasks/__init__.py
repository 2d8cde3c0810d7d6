"""Runs the tasks of docs/agents.md and checks their answers."""
