"""The kernel. Its names are public through `agentfp`; nothing outside the kernel imports this package."""
