"""The files of a board → which layer each of them is.

    files = gather([Path("board.zip")], {"top-copper": "odd name.art"})
    files.layers            # (LayerFile(kind="top-copper", …), …)
    files.unknown           # Gerbers that nothing says the layer of

A board comes as a folder, a ZIP archive or several files, from any CAD program. Its Gerbers and drill files
are told by their content; other files are left alone. What a layer is, is settled by the first of these that
says it:

1. the user,
2. the file itself: the attribute `.FileFunction` of Gerber X2, also in a comment of X1,
3. the job file (.gbrjob),
4. the name, as KiCad, Eagle, Fusion, Altium, EasyEDA, DipTrace, OrCAD, gEDA, pcb-rnd, Fritzing, Proteus, PADS
   and Target 3001 give it.

Kinds are top-copper, bottom-copper, top-mask, bottom-mask, top-paste, bottom-paste, top-silk, bottom-silk,
inner1-copper … inner30-copper, counted from the front, inner-copper if nothing says which, outline, drill,
plated-drill, unplated-drill, and `other` for assembly drawings and the like.

Inner copper is exposed on cores that are laminated later. Between the outer foils of a board they have inner1
and inner2 on their two sides, inner3 and inner4, and so on, so that those of odd numbers are seen from the
front, and those of even numbers from the back.

An archive is not trusted: names that leave its folder are refused, and it may not hold more bytes, unpacked,
than the limit of one file.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from laserpath.base import limits
from laserpath.base.errors import InputError, did_you_mean
from laserpath.design.formats import HEAD, by_content, head, is_archive, looks_like, plain

SIDES = ("top", "bottom")
PLANNED = tuple(f"{side}-{what}" for what in ("copper", "mask", "paste", "silk") for side in SIDES)
"""Kinds of outer layers, which can be exposed."""
INNER = tuple(f"inner{k}-copper" for k in range(1, 31))
EXPOSABLE = (*PLANNED, *INNER)
DRILLS = ("drill", "plated-drill", "unplated-drill")
_REST = ("inner-copper", "outline", *DRILLS, "other")
KINDS = (*EXPOSABLE, *_REST)
_LISTED = ", ".join((*PLANNED, f"{INNER[0]} … {INNER[-1]}"))
"""The layers that can be exposed, in a sentence."""

_MOST_FILES = 2000
"""Files in a folder or an archive. A board has a few dozen; more make the search for its layers slow."""
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError, RuntimeError,
    LookupError,
)  # fmt: skip
"""What zipfile raises."""
_DEEPEST = 4
"""Folders in each other that are searched."""


def side_of(kind: str) -> str:
    """`top` or `bottom`: from where a layer is seen while it is exposed."""
    if kind in INNER:
        return SIDES[INNER.index(kind) % 2]
    return kind.partition("-")[0]


def opposite(kinds: Sequence[str], there: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The other side of layers of one side, and the same layers on it, as far as they are there.

    kinds, there: of `EXPOSABLE`. Inner copper is left out.
    """
    side = side_of(kinds[0])
    (other,) = set(SIDES) - {side}
    turned = [kind.replace(side, other) for kind in kinds if kind not in INNER]
    return other, tuple(kind for kind in turned if kind in there)


def check_exposable(kind: str) -> None:
    """Raise InputError if a layer is not of a kind that can be exposed."""
    if kind not in EXPOSABLE:
        own = of_name(f"board-{kind.replace('.', '_')}.gbr")[0]  # a CAD program's: F.Cu
        near = f"; did you mean {own}?" if own in EXPOSABLE else did_you_mean(kind, EXPOSABLE)
        raise InputError(f"layer {kind!r} cannot be exposed; known: {_LISTED}{near}")


@dataclass(frozen=True, slots=True)
class LayerFile:
    """One file of a board. kind: of `KINDS`; '': unknown.  name: in its folder or archive.

    said: who said what it is: `given`, `X2`, `job file` or `name`.  rank: of two outlines by name, the lower
    one counts.
    """

    name: str
    data: bytes
    kind: str = ""
    said: str = ""
    rank: int = 0

    @property
    def is_gerber(self) -> bool:
        """Whether it is a Gerber, and no drill file of Excellon."""
        return by_content(self.data) == "Gerber"

    @property
    def is_plane(self) -> bool:
        """Whether it is a plane of Altium, or of Protel."""
        return bool(_PLANE.search(self.name.lower()))


@dataclass(frozen=True, slots=True)
class BoardFiles:
    """The files of a board, by name. name: of the board.  unknown: files of which nothing says the layer."""

    name: str
    layers: tuple[LayerFile, ...]
    unknown: tuple[str, ...]

    def every(self, *kinds: str) -> tuple[LayerFile, ...]:
        """The files of some kinds."""
        return tuple(one for one in self.layers if one.kind in kinds)

    def one(self, kind: str) -> LayerFile | None:
        """The file of a kind; None: there is none. Raises if there are several."""
        found = self.every(kind)
        best = [one for one in found if one.rank == min(each.rank for each in found)]
        if len(best) > 1:
            names = ", ".join(one.name for one in best)
            raise InputError(
                f"{self.name}: {len(best)} files are the {kind.replace('-', ' ')}: {names}; "
                f"--layer {kind}=FILE chooses one, or give the files of one board"
            )
        return best[0] if best else None


def gather(paths: Sequence[Path], given: Mapping[str, str] | None = None) -> BoardFiles:
    """The layers of a board. paths: a folder, an archive, or files.  given: kind → name of its file."""
    if not paths:
        raise InputError("no files of a board are given")
    name = paths[0].resolve().stem if len(paths) == 1 else _common(paths)
    with limits.work(name):
        found = [one for path in paths for one in _opened(path)]
        if not found:
            where = str(paths[0]) if len(paths) == 1 else "the files"
            raise InputError(f"{where}: no Gerber and no drill file is among them")
        known = _recognised(found, given or {})
    layers = tuple(
        sorted((one for one in known if one.kind), key=lambda one: (KINDS.index(one.kind), one.name))
    )
    return BoardFiles(name, layers, tuple(one.name for one in known if not one.kind))


def _common(paths: Sequence[Path]) -> str:
    """What the names of several files begin with, as the name of the board."""
    same = _same([path.stem for path in paths])
    return same.rstrip("-_. ") or paths[0].resolve().parent.name or "board"


# Files


def _opened(path: Path) -> Iterator[LayerFile]:
    """The Gerbers, drill files and job files at a path."""
    if path.is_dir():
        for each in _in_folder(path):
            yield from _kept(each.relative_to(path).as_posix(), _content(each))
        return
    data = _content(path)
    if is_archive(data):
        try:
            yield from _unpacked(data)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    else:
        one = list(_kept(path.name, data))
        if not one:
            like = looks_like(data, path.suffix.lower())
            raise InputError(
                f"{path} is neither a Gerber nor a drill file, nor a ZIP archive of them"
                + (f"; {like}" if like else "")
            )
        yield from one


def _content(path: Path) -> bytes:
    return limits.content(path, "file of a board")


def _in_folder(folder: Path, depth: int = 0) -> list[Path]:
    """The files of a folder and those in it, by name, without hidden ones and links to folders."""
    out: list[Path] = []
    for each in sorted(folder.iterdir()):
        if each.name.startswith("."):
            continue
        if each.is_dir() and not each.is_symlink() and depth < _DEEPEST:
            out += _in_folder(each, depth + 1)
        elif each.is_file():
            out.append(each)
        if len(out) > _MOST_FILES:
            raise InputError(f"{folder} holds more than {_MOST_FILES} files: give the folder of one board")
    return out


def _unpacked(data: bytes) -> Iterator[LayerFile]:
    """The files in an archive."""
    left = limits.now().bytes
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            if len(members) > _MOST_FILES:
                raise InputError(f"the archive holds more than {_MOST_FILES} files: give that of one board")
            for member in members:
                limits.spend()
                name = _checked(member)
                with archive.open(member) as stream:
                    first = stream.read(min(HEAD, left + 1))
                    whole = first + (stream.read(left + 1 - len(first)) if _is_layer(first) else b"")
                left -= len(whole)
                if left < 0:
                    raise limits.exceeded("the archive holds more than {} of files", "bytes")
                yield from _kept(name, whole)
    except InputError:
        raise
    except _DAMAGED:
        raise InputError("the archive is damaged: pack it again") from None


def _checked(member: zipfile.ZipInfo) -> str:
    """The name of a member; raises if it leaves the archive's folder, or is encrypted."""
    name = member.filename.replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        raise InputError(
            f"the archive has a file named {member.filename[:80]!r}, which leads out of its folder"
        )
    if member.flag_bits & 1:
        raise InputError(f"the archive has a file {name[:80]!r} that is encrypted: unpack it")
    return name


def _kept(name: str, data: bytes) -> Iterator[LayerFile]:
    """The file, if it is one of a board's."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
    if not hidden and _is_layer(data[:HEAD]):
        yield LayerFile(name, plain(data))


_DRILL = re.compile(r"^[^\S\n]*(?:M48\b|T0*\d+[^\n*]{0,12}C\.?\d)|^[^\n]*\bHolesize 1\. = ", re.MULTILINE)


def _is_layer(first: bytes) -> bool:
    """Whether the beginning of a file is that of a Gerber, a drill file or a job file."""
    text = head(first)
    return bool(text) and (
        by_content(first) == "Gerber" or _is_job(text) or _DRILL.search(text[:8000]) is not None
    )


def _is_job(text: str) -> bool:
    return text.startswith("{") and '"FilesAttributes"' in text


# Kinds

_FUNCTION = re.compile(r"TF\.FileFunction,([^*%\n]{1,80})")
_SIDES = {"Top": "top", "Bot": "bottom"}
_WHOLE = {
    "Profile": "outline",
    "Plated": "plated-drill",
    "NonPlated": "unplated-drill",
    "MixedPlating": "drill",  # KiCad, of all holes in one file
}
_FUNCTIONS = {"Soldermask": "mask", "Paste": "paste", "Legend": "silk"}


def _recognised(found: Sequence[LayerFile], given: Mapping[str, str]) -> list[LayerFile]:
    """The files with their kinds, without the job files."""
    jobs = [one for one in found if _is_job(head(one.data))]
    gerbers = [one for one in found if one not in jobs]
    said = dict(pair for job in jobs for pair in _job_functions(job))
    begin = _beginning([PurePosixPath(one.name).name for one in gerbers])
    out = _each_once([_said(one, said, begin) for one in gerbers])
    for kind, name in given.items():
        if kind not in KINDS:
            raise InputError(
                f"layer {kind!r} is unknown; known: {_LISTED}, {', '.join(_REST)}{did_you_mean(kind, KINDS)}"
            )
        place = _named(name, [one.name for one in out])
        drop = kind not in (*DRILLS, "inner-copper", "other")
        out = [
            replace(one, kind=kind, said="given", rank=-1)
            if k == place
            else replace(one, kind="other")
            if drop and one.kind == kind
            else one
            for k, one in enumerate(out)
        ]
    return out


def _named(name: str, names: Sequence[str]) -> int:
    """Which file is meant by a name, with or without its folder."""
    fits = [k for k, one in enumerate(names) if one == name]
    fits = fits or [k for k, one in enumerate(names) if PurePosixPath(one).name == Path(name).name]
    if len(fits) != 1:
        what = "several files are" if fits else "no Gerber and no drill file is"
        raise InputError(f"{what} named {name!r}; there are {', '.join(names)}")
    return fits[0]


def _job_functions(job: LayerFile) -> Iterator[tuple[str, str]]:
    """(file's name, its function) of a job file (Gerber Job File Format 2020.08, FilesAttributes)."""
    try:
        rows = json.loads(job.data)["FilesAttributes"]
        for row in rows:
            yield PurePosixPath(str(row["Path"]).replace("\\", "/")).name, str(row["FileFunction"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"the job file {job.name} is damaged: leave it out") from None


def _each_once(files: Sequence[LayerFile]) -> list[LayerFile]:
    """The files without copies of a layer: some programs write one under two names."""
    seen: dict[tuple[str, bytes], LayerFile] = {}
    for one in files:
        seen.setdefault((one.kind, one.data), one)
    return list(seen.values())


def _same(names: Sequence[str]) -> str:
    """What all names begin with."""
    first, last = min(names), max(names)
    return first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _beginning(names: Sequence[str]) -> str:
    """What all names begin with, up to the last - _ or blank in it: the project's name."""
    same = _same(names) if len(names) > 1 else ""
    return same[: max(same.rfind(mark) for mark in "-_ ") + 1]


def _said(one: LayerFile, job: Mapping[str, str], begin: str) -> LayerFile:
    """A file with what itself, the job file or its name says. begin: of all names."""
    text = one.data[:HEAD].decode("utf-8", "replace")
    name = PurePosixPath(one.name).name
    function = _FUNCTION.search(text)
    for said, found in (("X2", function and function[1]), ("job file", job.get(name))):
        if found and (kind := of_function(found)):
            return replace(one, kind=kind, said=said)
    kind, rank = of_name(one.name, begin, is_drill=not one.is_gerber)
    return replace(one, kind=kind, said="name" if kind else "", rank=rank)


def of_function(function: str) -> str:
    """The kind of a `.FileFunction` (Gerber Layer Format Specification 2024.05, 5.6.3); '': none."""
    what, *more = (part.strip() for part in function.split(","))
    side = next((_SIDES[part] for part in more if part in _SIDES), "")
    if what == "Copper":
        level = re.fullmatch(r"L(\d{1,4})", more[0]) if more else None
        return f"{side}-copper" if side else _inner(int(level[1]) - 1 if level else 0)
    if what in _FUNCTIONS:
        return f"{side}-{_FUNCTIONS[what]}" if side else ""
    return _WHOLE.get(what, "" if what == "Other" else "other")


def _inner(number: int) -> str:
    """The kind of inner copper. number: counted from the front, from 1; another: it is not known."""
    return INNER[number - 1] if 1 <= number <= len(INNER) else "inner-copper"


_BY_SUFFIX = {
    suffix: kind
    for kind, suffixes in (
        ("top-copper", "gtl cmp"),
        ("bottom-copper", "gbl sol sld"),
        ("top-mask", "gts stc tsm smt"),
        ("bottom-mask", "gbs sts bsm smb"),
        ("top-paste", "gtp crc tsp spt"),
        ("bottom-paste", "gbp crs bsp spb"),
        ("top-silk", "gto plc tsk sst"),
        ("bottom-silk", "gbo pls bsk ssb"),
        ("other", "fab ast asb gpt gpb gbx"),
    )
    for suffix in suffixes.split()
}
"""Suffixes of Protel and Altium, Eagle, OrCAD, pcb-rnd; KiCad, EasyEDA and Fritzing can write Protel's."""
_INNER = re.compile(r"\.(?:g[1-9]\d?|gp[1-9]\d?|ly\d+|in\d+)$")
_PLANE = re.compile(r"\.gp[1-9]\d?$")
_NUMBERS = (
    (re.compile(r"(?:\bin|_in|inner|internal|mid)(?:[ _-]?(?:layer|plane))?[ _.-]?(\d{1,2})(?!\d)"), 0),
    (re.compile(r"(?:ly|layer|(?<![a-z])l)[ _-]?(\d{1,2})(?!\d)"), 1),
    (re.compile(r"\.(?:gp?|in)(\d{1,2})$"), 0),
)
"""What names of inner copper have, and the number of the front in its counting: L2 is the first inner one."""
_OUTLINES = (
    re.compile(r"edge[ ._-]?cuts|out+l*ine|profile|board[ _-]?(?:edge|shape)|contour"),
    re.compile(r"\.gko$"),
    re.compile(r"\.(?:gm1|gml|mil|dim)$"),
    re.compile(r"mechanical[ _-]?1\b"),
)
"""What names of an outline have, the surest first: .gko may be a keep-out, and .gm1 a drawing."""
_WORDS = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"drill[ _-]?(?:map|draw|guide)|_map\.|assembl|\bassy|courtyard|_crtyd|_fab\b|_fab\.|adhes|glue",
            "other",
        ),
        (
            r"keep-?out|user[._]|dwgs|eco[12]|margin\.|place|fabrication|\bfab\d?\.|\.gm\d+$|\.gd\d$|\.gg\d$",
            "other",
        ),
        (r"paste|[tb]cream|stencil|metalmask|^sp[tb]\.", "paste"),
        (r"mask|resist|stop(?=top|bot|[ _-])|^sm[tb]\.", "mask"),
        (r"silk|legend|overlay|posi(?=top|bot)|nomenclature|^ss[tb]\.", "silk"),
        (r"copper|\bcu\b|_cu\b|etch|signal|layer|conductive", "copper"),
    )
)
"""What names of other layers have, in this order: a TopPasteMaskLayer is paste."""
_SIDE = re.compile(
    r"(?P<top>(?<![a-z])f(?=[._-](?:cu|mask|paste|silk))|(?<!s)top|(?<=stop)top|front|component|(?<![a-z])prm"
    r"|primary|^s[smp]t\.|(?<![a-z])t(?=cream))"
    r"|(?P<bottom>(?<![a-z])b(?=[._-](?:cu|mask|paste|silk))|bot|back|solder[ _-]?side|(?<![a-z])sec(?![a-z])"
    r"|secondary|^s[smp]b\.|(?<![a-z])b(?=cream))"
)
_BARE = re.compile(
    r"(?:^|[-_. \d])(?:top|bottom|bot|front|back|primary|secondary)(?:[ _-]?(?:layer|side))?(?:\.\w+)?$"
)
_LEVEL = re.compile(r"\bin\d+[ ._-]cu\b|inner|internal|(?:^|[ _-])(?:layer|l)[ _-]?\d+\.\w+$|^l\d+[ _-]")
_DRILL_NAME = re.compile(r"(?:^|[-_. ])(?:drl|drills?)\.gbr$")  # drills as Gerber
_NOT_PLATED = re.compile(r"unplated|non[ _-]?plated|np(?:th|lt|t)\b|npth")
_PLATED = re.compile(r"plated|(?<!n)pth|(?<!n)plt\b")


def of_name(name: str, begin: str = "", *, is_drill: bool = False) -> tuple[str, int]:
    """(kind, rank) that a name says; ('', 0): nothing. begin: what the names of all files begin with.

    The beginning is the name of the project, which may say anything.
    """
    whole = PurePosixPath(name).name.lower()
    own = whole.removeprefix(begin.lower())
    if is_drill or _DRILL_NAME.search(own):
        return (
            "unplated-drill"
            if _NOT_PLATED.search(own)
            else "plated-drill"
            if _PLATED.search(own)
            else "drill"
        ), 0
    suffix = whole.rpartition(".")[2]
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix], 0
    if _INNER.search(whole):
        return _inner(_number(own)), 0
    for rank, outline in enumerate(_OUTLINES):
        if outline.search(own):
            return "outline", rank
    what = next((what for words, what in _WORDS if words.search(own)), "")
    side = next((side for text in (own, whole) for side in _sides(text)), "")
    if what == "other":
        return what, 0
    if what in ("", "copper") and (_LEVEL.search(own) and not side):
        return _inner(_number(own)), 0
    if what and side:
        return f"{side}-{what}", 0
    return (f"{side}-copper" if side and _BARE.search(own) else ""), 0


def _number(name: str) -> int:
    """The number of inner copper, counted from the front, that a name says; 0: none."""
    found = ((pattern.search(name), front) for pattern, front in _NUMBERS)
    return next((int(match[1]) - front for match, front in found if match), 0)


def _sides(text: str) -> list[str]:
    """The last side that a name names, or none."""
    found = list(_SIDE.finditer(text))
    return [str(found[-1].lastgroup)] if found else []
