#!/bin/sh
# Index a memory of meetings: build.sh --memory memory.json --output INDEX
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
# -I: nothing from the environment or the user's own packages; -B: the code may be read-only.
exec "${HYBRIDRANK_PYTHON:-python3}" -I -B "$here/entry.py" build "$@"
