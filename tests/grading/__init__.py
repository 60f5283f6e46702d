"""Tests of asking models for what is missing."""
