"""Tests of what people look at and settle."""
