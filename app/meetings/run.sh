#!/bin/sh
# Recall the notes that bear on a question: run.sh --index INDEX --question TEXT --output memories.json
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
# -I: nothing from the environment or the user's own packages; -B: the code may be read-only.
exec "${HYBRIDRANK_PYTHON:-python3}" -I -B "$here/entry.py" run "$@"
