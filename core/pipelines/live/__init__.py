"""Live targets: search and RAG endpoints that are asked for every query, frozen, and watched."""
