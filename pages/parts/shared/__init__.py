"""Helpers of all screens: the frame, charts, figures, texts, presses, and the person."""
