"""Tests of the files that are read and written."""
