"""What the gate adds to a model call in other frameworks."""
