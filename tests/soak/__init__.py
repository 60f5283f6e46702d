"""A soak test: people act at random in a served project, with checks after every round."""
