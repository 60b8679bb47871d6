"""Common ground of all packages: arrays, checks, errors, files, units, and set operations on a grid."""
