"""Reads the transcripts of other frameworks' agents, and judges the answers in them through the command ``agentfp check``."""

from agentfp_transcripts.checking import Check, Finding, answers_of
from agentfp_transcripts.registry import READERS, Readers
from agentfp_transcripts.sources import Problem, read, read_data

__all__ = ["READERS", "Check", "Finding", "Problem", "Readers", "answers_of", "read", "read_data"]
