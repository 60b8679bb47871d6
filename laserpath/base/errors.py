"""The one exception for bad input: a sentence with the name, the value and the limit."""


class InputError(ValueError):
    """User input that cannot be used. The message is one clear sentence."""
