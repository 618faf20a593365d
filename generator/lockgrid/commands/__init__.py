"""One module a verb: wires adapters and core together. Prints nothing; returns results or raises."""
