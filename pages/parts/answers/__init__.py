"""Parts of the screens about answers: Answers, Cases and Judges."""
