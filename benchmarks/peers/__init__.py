"""The same turn in other frameworks, each in an environment of its own, measured in one go with agentfp's."""
