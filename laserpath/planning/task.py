"""A planning task: the scene, the process and the settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from laserpath.design.partition import Partition, given_model, partition_of
from laserpath.design.scene import Scene
from laserpath.design.target import affordable
from laserpath.machine import convert
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.types import Design, Machine, Process, Settings


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A scene on the grid of its settings. process: with the scene's spot and resin."""

    scene: Scene
    process: Process
    settings: Settings

    @classmethod
    def of(cls, design: Design, process: Process, settings: Settings) -> Task:
        """The task of a placed design; raises InputError if its grid needs too many pixels."""
        scene = Scene.around(design, process.spot, process.resin, settings.pixels_per_fwhm)
        return cls(scene, process, settings)

    @classmethod
    def affordable(cls, design: Design, process: Process, settings: Settings) -> Task:
        """As `of`, with fewer pixels per FWHM where a grid that is not cut into fields would have too many.

        A random start, and a resin with kinetics, are worked on as a whole.
        """
        task = cls.of(design, process, settings)
        whole = settings.initial == "random" or process.resin.kinetics is not None
        if not (whole or task.partition.single):
            return task
        fine = affordable(design, process.spot, settings.pixels_per_fwhm)
        return (
            task
            if fine == settings.pixels_per_fwhm
            else cls.of(design, process, replace(settings, pixels_per_fwhm=fine))
        )

    @property
    def design(self) -> Design:
        """The area to expose."""
        return self.scene.design

    @property
    def follows(self) -> bool:
        """Whether the path is the design's own lines, whose vertices stay."""
        return self.design.lines is not None

    @property
    def machine(self) -> Machine:
        """The machine of the process."""
        return self.process.machine

    @property
    def punctual(self) -> Task:
        """This task on the machine without slack and late laser, whose moves are changed for them later."""
        return replace(self, process=replace(self.process, machine=convert.punctual(self.machine)))

    @property
    def partition(self) -> Partition:
        """The fields of its grid."""
        return partition_of(self.scene, self.settings.field_fwhm)

    @property
    def overview(self) -> Scene:
        """The scene on which all of the design is weighed: its own, or of several fields a coarse one."""
        return self.scene if self.partition.single else self.scene.coarse

    @property
    def overview_model(self) -> DoseModel:
        """The dose on the overview: accurate, and of several fields in single precision, within 1e-5."""
        made = accurate_model if self.partition.single else given_model
        return made(self.overview.grid, self.overview.spot)

    def within(self, iterations: int) -> Task:
        """This task with another maximum of iterations."""
        return replace(self, settings=replace(self.settings, iterations=iterations))
