#!/bin/sh
# Answer a question from recalled notes: answer.sh --question TEXT --memories memories.json --output answer.txt
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
# -I: nothing from the environment or the user's own packages; -B: the code may be read-only.
exec "${HYBRIDRANK_PYTHON:-python3}" -I -B "$here/entry.py" answer "$@"
