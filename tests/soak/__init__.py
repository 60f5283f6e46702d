"""A soak test: persons act at random in a served project, with checks after every round."""
