"""Parts of the screens about answers: Answers, Cases and Answer checks."""
