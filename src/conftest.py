"""What pytest leaves out here: the examples of plugs whose frameworks are not installed."""

from importlib.util import find_spec

_FRAMEWORKS = {
    "haystack.py": "haystack",
    "langchain.py": "langchain_core",
    "llama_index.py": "llama_index",
    "pyterrier.py": "pyterrier",
    "serve/app.py": "starlette",
}

collect_ignore = [
    f"hybridrank/integrations/{plug}" for plug, package in _FRAMEWORKS.items() if find_spec(package) is None
]
