"""Exit codes other than 0; docs/cli.md explains them."""

HAS_ERRORS = 1
BAD_INPUT = 2
TOLERANCE_MISSED = 3
STOPPED = 130
