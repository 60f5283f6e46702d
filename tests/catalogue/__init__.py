"""Tests of what graders are called."""
