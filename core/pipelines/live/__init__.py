"""Live targets: search and RAG endpoints that are asked for every query, saved as snapshots, and watched."""
