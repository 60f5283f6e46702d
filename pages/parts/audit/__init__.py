"""Parts of the Audit screen: plan, leaderboard, judging, the meaning of labels, and files for a
paper.
"""
