"""Tests of one project in one file."""
