"""The kernel's events, one module a domain. ``catalog`` lists them all; ``base`` says what an event is."""
