"""Tests of the screens, with and without a browser."""
