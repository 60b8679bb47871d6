"""The user's input: profiles of machines, resins and spots; options by name; laserpath.toml."""
