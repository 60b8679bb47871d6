"""Straight strokes: fitted to a picture or a drawing."""
