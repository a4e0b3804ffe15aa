"""``python -m hybridrank`` is the command ``hybridrank``."""

import sys

from hybridrank.cli import main

sys.exit(main())
