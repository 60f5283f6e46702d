"""Tests of numbers from numbers."""
