"""Who may use which keys, endpoints and models, and where they are."""
