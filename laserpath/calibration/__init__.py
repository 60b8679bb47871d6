"""From a test chart to profiles of one's own resin and spot.

    chart = calibration.chart(process)             # lines, dots and wedges of many doses
    chart.write("out/")                            # chart.gcode, chart.svg, chart.csv to fill in
    measured = calibration.read_sheet(text)
    fit = calibration.fit(measured)                # FWHM, critical dose, penetration depth, reciprocity
    calibration.files_of(fit, measured, name="mine", source="chart.csv")   # profiles, and a picture
    process = Process(fit.spot(), fit.resin(), machine)

`focus_chart` is a series over Z, from which `fit_focus` finds the best focus and its depth. `fit_mechanics`
finds the delay of the laser and the slack of the axes, `fit_print` blur and contrast from a photograph of a
print, `fit_heights` from measured heights.
"""

from laserpath.calibration.charts import Chart, chart
from laserpath.calibration.estimates import PLURAL, Estimate, Fit, SizeResidual, in_words, shown, supported
from laserpath.calibration.fits import Options, fit
from laserpath.calibration.focus import FocusFit, fit_focus, focus_chart
from laserpath.calibration.heights import HeightModel, fit_heights
from laserpath.calibration.measurements import Item, Measured, Measurements, read_sheet
from laserpath.calibration.mechanics import MechanicsFit, fit_mechanics
from laserpath.calibration.prints import PrintFit, fit_print
from laserpath.calibration.profiles import entries, files_of, focus_profile, machine_profile, print_profiles

Residual = SizeResidual
"""The name of `SizeResidual` in 0.1."""

__all__ = [
    "PLURAL",
    "Chart",
    "Estimate",
    "Fit",
    "FocusFit",
    "HeightModel",
    "Item",
    "Measured",
    "Measurements",
    "MechanicsFit",
    "Options",
    "PrintFit",
    "Residual",
    "SizeResidual",
    "chart",
    "entries",
    "files_of",
    "fit",
    "fit_focus",
    "fit_heights",
    "fit_mechanics",
    "fit_print",
    "focus_chart",
    "focus_profile",
    "in_words",
    "machine_profile",
    "print_profiles",
    "read_sheet",
    "shown",
    "supported",
]
