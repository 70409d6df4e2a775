"""One module a format: each holds a reader that tells whether data is of its format, and makes transcripts of it."""
