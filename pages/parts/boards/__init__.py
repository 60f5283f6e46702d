"""Parts of the leaderboard and the measures: tables, curves, maps, one system."""
