"""Parts of Leaderboard and Meta-evaluation: tables, curves, maps, one system."""
