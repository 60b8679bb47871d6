"""What a package can add to laserpath: one small example of each kind."""

import re
from dataclasses import replace

import numpy as np
import shapely
from shapely import affinity

import gcode
from laserpath import Design, Spot
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.optics import BeamTable


def read_hpgl(data, name, reading):
    """Design reader: HP-GL, `PUx,y;PDx,y,x,y,…;` around each area; 40 units are one mm."""
    text = data.decode("ascii", "replace")
    places = [re.findall(r"-?\d+", way) for way in re.findall(r"PU([-\d, ]+;\s*PD[-\d, ]+)", text)]
    rings = [np.array(way, dtype=float).reshape(-1, 2) / 40 for way in places if len(way) > 5]
    if not rings:
        raise InputError("no PU and PD with at least three places is in it")
    return Design(shapely.MultiPolygon(list(map(shapely.Polygon, rings))), name)


def diagonals(design, process, settings):
    """Starting curve: strokes (K, 2) mm, lines at 45 degrees, a pitch apart."""
    pitch = settings.pitch_fwhm * optics.fwhm(process.spot)
    inside = affinity.rotate(design.area.buffer(-pitch / 3), -45, origin=(0, 0))
    x0, y0, x1, y1 = inside.bounds
    lines = shapely.MultiLineString([[(x0, y), (x1, y)] for y in np.arange(y0 + pitch / 9, y1, pitch)])
    strokes = affinity.rotate(shapely.intersection(inside, lines, grid_size=1e-10), 45, origin=(0, 0))
    return [shapely.get_coordinates(stroke) for stroke in shapely.get_parts(strokes)]


def ring():
    """Spot: a doughnut, dark in its middle, of 0.2 mm FWHM."""
    radius = np.linspace(0, 0.25, 101)  # mm
    intensity = (0.2 + (radius / 0.07) ** 2) * np.exp(-((radius / 0.07) ** 2))
    return Spot(0.2, "measured", measured=BeamTable(radius, intensity))


SHOP = replace(gcode.dialect("grbl"), name="shop", header=("G21", "G90", "M8"), footer=("M9", "S0", "M2"))
