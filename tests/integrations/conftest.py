"""What keeps the frameworks from reporting, at home or here, while they are tested."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["PT_TEST_TRANSFORMER_REPORTS"] = "0"
