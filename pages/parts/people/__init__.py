"""Parts of the People screen: assigning, days due, how well people agree."""
