"""Graders on the workers of a Ray cluster: pairs go through Ray Data in blocks, and come back as Parquet shards."""
