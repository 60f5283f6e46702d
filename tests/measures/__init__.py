"""Tests of measures and statistics."""
