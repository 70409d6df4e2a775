"""Reads exports of traces: OTLP JSON, what the SDK prints, and Phoenix; with OpenInference's or OpenTelemetry's names of attributes."""

from agentfp_transcripts.readers.spans.reader import SpansReader

__all__ = ["SpansReader"]
