"""The parts of the screens; a file directly in `pages/` is a screen."""
