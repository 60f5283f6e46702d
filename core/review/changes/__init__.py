"""What a change does: the labels that flip and why, the systems that move, between any two states."""
