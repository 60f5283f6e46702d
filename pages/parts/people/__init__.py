"""Parts of the People screen: assignments, due dates, agreement between people."""
