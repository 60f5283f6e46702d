"""Tests of generated answers (LLM-retEval)."""
