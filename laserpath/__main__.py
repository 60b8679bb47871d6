"""`python -m laserpath` is the command `laserpath`."""

from laserpath.cli import main

if __name__ == "__main__":
    main()
