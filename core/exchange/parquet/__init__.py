"""Export of a whole project as Parquet files, and its checked import."""
