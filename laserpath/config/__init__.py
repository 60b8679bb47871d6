"""What a user may ask for: profiles of machines, resins and spots; options by name; laserpath.toml."""
