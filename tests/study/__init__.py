"""Tests of studies of measures, graders, questions and systems."""
