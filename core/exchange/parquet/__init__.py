"""A whole project as Parquet files and back, with all that is checked on the way."""
