"""Parts of the Audit screen: the plan, the board, the judging desk, what labels mean, and what goes into a paper."""
