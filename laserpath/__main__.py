"""`python -m laserpath` is the command `laserpath`."""

from laserpath.cli import command

if __name__ == "__main__":
    command()
