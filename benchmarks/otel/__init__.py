"""What tracing adds to an iteration, beside the peers' own tracing."""
