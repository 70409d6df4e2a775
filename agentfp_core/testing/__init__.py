"""What people test their agents and plugins with; re-exported as ``agentfp.testing``."""
