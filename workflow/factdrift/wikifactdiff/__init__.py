"""The datasets themselves: popularity, WFD_repl, the records, and what accounts for them."""
