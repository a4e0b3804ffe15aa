"""Settings for every test."""

from hypothesis import settings

# The machines that run the tests are shared, so that a slow example says nothing.
settings.register_profile("hybridrank", deadline=None)
settings.load_profile("hybridrank")
