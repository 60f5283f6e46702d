"""Recordings of the product's answers, which show whether a code change alters them."""
