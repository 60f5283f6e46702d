"""Tests of exams for pipelines."""
