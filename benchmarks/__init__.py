"""What agentfp costs, measured: `make bench`, and beside other frameworks: `make bench-peers`. Nothing here asserts a time."""
