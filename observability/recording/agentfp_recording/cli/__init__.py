"""The commands of this distribution: one module each, offered through ``agentfp.commands``."""
