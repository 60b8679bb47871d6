"""What every room stands on: arrays, checks, errors, files, units, and set operations on a grid."""
