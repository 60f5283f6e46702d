"""Tests of how grades become labels."""
