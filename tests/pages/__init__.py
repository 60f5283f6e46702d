"""Tests of the screens, without a browser and in one."""
