"""The checks: each a pure function of what it looks at, which the plugin and the canaries call alike."""
