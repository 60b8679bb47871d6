"""How work is run: Taichi, started once (`runtime`), its library found (`library`), its compiled kernels kept
(`cache`); and threads beside the caller's (`beside`).

Every room with kernels stands on this one: `from laserpath.base.compute.runtime import Kernel, ti`.
"""
