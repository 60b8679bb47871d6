"""The one exception for bad input: a sentence with the name, the value and the limit."""


class InputError(ValueError):
    """What the user gave cannot be used. The message is one clear sentence."""
