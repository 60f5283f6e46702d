"""A recording of the product's answers, to show that a change leaves them as they were."""
