#!/bin/sh
# Build the index of a corpus of reports: build.sh --corpus DIR --index-dir DIR
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
# -I: nothing from the environment or the user's own packages; -B: the code may be read-only.
exec "${HYBRIDRANK_PYTHON:-python3}" -I -B "$here/entry.py" build "$@"
