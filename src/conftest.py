"""What pytest leaves out here: modules that stand on what is not installed."""

from importlib.util import find_spec

_STANDS_ON = {
    "integrations/haystack.py": "haystack",
    "integrations/langchain.py": "langchain_core",
    "integrations/llama_index.py": "llama_index",
    "integrations/pyterrier.py": "pyterrier",
    "integrations/serve/app.py": "starlette",
    "maxscore_numba.py": "numba",
}

collect_ignore = [
    f"hybridrank/{module}" for module, package in _STANDS_ON.items() if find_spec(package) is None
]
