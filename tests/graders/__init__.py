"""Tests of what turns texts into grades."""
