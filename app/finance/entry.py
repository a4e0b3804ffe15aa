"""What build.sh and run.sh start: the package from ./lib when assembled, or from the checkout around."""

import contextlib
import ctypes
import os
import sys
import sysconfig
from typing import NoReturn

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "lib")
SOURCE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "src")


def refuse(reason: str, remedy: str) -> NoReturn:
    """End with a message and exit code 2."""
    sys.stderr.write(f"error: {HERE}: {reason}. {remedy}\n")
    sys.exit(2)


def find_package() -> None:
    """Put the package and what it needs on the path; with neither place there, it must be installed."""
    this = f"{sysconfig.get_config_var('SOABI') or sys.implementation.cache_tag} ({sys.executable})"
    if sys.version_info < (3, 10):  # noqa: UP036 - this file is read by any Python, to say so
        refuse(f"this needs Python 3.10 or newer, not {this}", "Set HYBRIDRANK_PYTHON to one.")
    if os.path.isdir(LIBRARY):
        try:
            with open(os.path.join(LIBRARY, "python.txt"), encoding="ascii") as note:
                wanted = note.read().strip()
        except OSError:
            refuse("it was not assembled to the end, or copied in part", "Assemble it again.")
        if this.split()[0] != wanted:
            refuse(
                f"assembled for Python {wanted}, not {this}",
                "Set HYBRIDRANK_PYTHON to a Python that fits, or assemble it again with this one.",
            )
        load_libraries(os.path.join(LIBRARY, "system"))
        sys.path.insert(0, LIBRARY)
    elif os.path.isdir(SOURCE):
        sys.path.insert(0, SOURCE)


def load_libraries(folder: str) -> None:
    """Load the libraries of a folder that the system lacks, so that packages that stand on them find them."""
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if ".so" not in name:
            continue
        try:
            ctypes.CDLL(name)
        except OSError:
            # If it fits this machine as little, the package that wants it says so.
            with contextlib.suppress(OSError):
                ctypes.CDLL(os.path.join(folder, name), mode=ctypes.RTLD_GLOBAL)


def main() -> int:
    """Run the command that the script names."""
    find_package()
    try:
        from hybridrank.cli import main as run_command

        return run_command(["finance", *sys.argv[1:]])
    except ModuleNotFoundError as error:
        refuse(
            f"{error.name} is not installed for {sys.executable}",
            "Set HYBRIDRANK_PYTHON to a Python that has it, or use an assembled directory.",
        )


if __name__ == "__main__":
    sys.exit(main())
elif __name__ == "__mp_main__":  # one of several processes that share the work
    find_package()
