"""Boards: a folder of Gerbers and drill files, and what each of its layers means for the resist."""
