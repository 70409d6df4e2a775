"""The checks that every model should pass: of a provider, of a wrapper, and of a real model that answers as it likes."""
