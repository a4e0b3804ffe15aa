"""What the scripts start in a checkout; an assembled script carries its modules and has no need of this."""

import os
import sys

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "src")

if __name__ == "__main__":
    if os.path.isdir(os.path.join(SOURCE, "hybridrank")):
        sys.path.insert(0, SOURCE)
    from hybridrank.tasks.meetings.scripts import main

    sys.exit(main(sys.argv[1:]))
