"""One passage and many: the desk of one, the search among all, the gaps that the bank leaves."""
