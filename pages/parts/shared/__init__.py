"""What every screen draws with: the frame, charts, figures, texts, presses, who sits there."""
