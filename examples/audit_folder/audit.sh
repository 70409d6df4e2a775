#!/bin/sh
# Judges every transcript in a folder: ./audit.sh [FOLDER]. Ends with 1 where an answer states a value from nowhere that known.json does not
# hold, or where something could not be read. Leaves reports/page.html to look at, reports/junit.xml and reports/findings.sarif for machines.
set -u
folder=${1:-transcripts}
mkdir -p reports
check() { agentfp check "$folder" --baseline known.json "$@"; }

check --format junit > reports/junit.xml
check --format sarif > reports/findings.sarif
check --flagged --html reports/page.html --fail-on strong
