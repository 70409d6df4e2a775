"""The page that ``--html`` writes: one file that needs nothing else, with every answer, its values, and where they come from."""

from agentfp_transcripts.page.writing import Page

__all__ = ["Page"]
