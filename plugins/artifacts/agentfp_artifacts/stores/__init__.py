"""The stores of this package, and what they share."""
