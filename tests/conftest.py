"""How many examples property tests draw: few while one works, many in CI."""

from __future__ import annotations

import os

from hypothesis import settings

# No example has a deadline: a busy machine is no fault.
settings.register_profile("dev", max_examples=12, deadline=None)
settings.register_profile("ci", max_examples=150, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
