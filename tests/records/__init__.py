"""Tests of projects and their records."""
