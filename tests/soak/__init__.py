"""A soak: persons at random work in a served project, with checks after every round."""
