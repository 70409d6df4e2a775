"""The checks that every model, sink and store should pass: providers, wrappers, and real models that answer as they like."""
