"""Taichi: started once (`runtime`), its library found (`library`), its compiled kernels kept (`cache`).

`beside` runs other work in a thread meanwhile.

Every room with kernels stands on this one: `from laserpath.compute.runtime import Kernel, ti`.
"""
