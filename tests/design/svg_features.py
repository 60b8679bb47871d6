"""One small drawing for each feature of SVG that the reader understands, on a page of 1 in = 96 px.

For a name the content of the page; a whole file where the page itself is the feature. All is black and white
and opaque, so that a renderer's picture is the drawing's coverage.
"""

from __future__ import annotations

PAGE = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'width="1in" height="1in" viewBox="0 0 96 96">'
)
L = '<path d="M10 10H60V30H30V80H10Z"/>'
"""A shape without symmetry."""
STAR = "M48,6 L72,88 L8,36 L88,36 L24,88 Z"
LINE = 'fill="none" stroke="black" stroke-width="9"'
DOTS = 'stroke-width="16" stroke-dasharray="0 24" stroke-linecap="round"'
BEND = "M15 80L30 20L50 75L84 60"


def _root(attributes: str, body: str) -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{body}</svg>'


def _aspect(aspect: str, size: str = 'width="1in" height=".5in"') -> str:
    body = '<path d="M5 5H25V12H12V45H5Z"/><circle cx="22" cy="30" r="6"/>'
    return _root(f'{size} viewBox="5 5 20 40" preserveAspectRatio="{aspect}"', body)


SHAPES = {
    "rect": '<rect x="10" y="20" width="60" height="40"/>',
    "rect rounded": '<rect x="10" y="20" width="60" height="40" rx="12"/>',
    "rect rounded to the limit": '<rect x="10" y="20" width="60" height="40" rx="50" ry="8"/>',
    "circle": '<circle cx="48" cy="48" r="37"/>',
    "ellipse": '<ellipse cx="48" cy="48" rx="40" ry="12"/>',
    "ellipse auto radius": '<ellipse cx="48" cy="48" ry="22"/>',
    "polygon": '<polygon points="5,5 90,20 40,90"/>',
    "polyline filled": '<polyline points="5 5 90 20 40 90 60 10"/>',
    "line": f'<line x1="10" y1="20" x2="80" y2="70" {LINE}/>',
    "path cubics": '<path d="M10 80C20 0 80 0 86 80S40 40 10 80Z"/>',
    "path quadratics": '<path d="M10 80Q30 0 48 48T90 50V90Z"/>',
    "path relative": '<path d="m10 10h50v20l-30 5 5 40-20-10c-10-10 0-20-5-55z"/>',
    "path arcs": '<path d="M10 60A40 20 30 1 1 80 60A20 20 0 0 0 40 70 10 10 0 0 1 10 60Z"/>',
    "path arcs with tight flags": '<path d="M20 50a30 20 15 1130-20a9 9 0 0020 30z"/>',
    "path arc too small for its chord": '<path d="M10 50A5 10 20 0 1 85 60Z"/>',
    "path several, holes": '<path d="M5 5H90V90H5ZM20 20V70H70V20ZM40 40h10v10h-10Z"/>',
    "path with a mistake": '<path d="M5 5H60V60H5Z M70 70H90V90 L 3 x 9"/>',
    "nonzero star": f'<path d="{STAR}"/>',
    "even-odd star": f'<path fill-rule="evenodd" d="{STAR}"/>',
    "nonzero holes by direction": '<path d="M5 5H60V60H5ZM30 30H90V90H30ZM40 40V50H50V40Z"/>',
    "even-odd overlaps": '<path fill-rule="evenodd" d="M5 5H60V60H5ZM30 30H90V90H30ZM40 40V50H50V40Z"/>',
}

TRANSFORMS = {
    "translate": f'<g transform="translate(20,10)">{L}</g>',
    "rotate": f'<g transform="rotate(25)">{L}</g>',
    "rotate about a point": f'<g transform="rotate(-70 48 48)">{L}</g>',
    "scale": f'<g transform="scale(.5 1.1)">{L}</g>',
    "scale negative": f'<g transform="translate(90 0) scale(-1 .9)">{L}</g>',
    "skewX": f'<g transform="skewX(20)">{L}</g>',
    "skewY": f'<g transform="skewY(-15) translate(0 15)">{L}</g>',
    "matrix": f'<g transform="matrix(.6 .3 -.5 .7 40 2)">{L}</g>',
    "nested": f'<g transform="translate(48 48)"><g transform="rotate(30) skewX(10)">'
    f'<g transform="scale(.7,-.6)"><g transform="translate(-40-40)">{L}</g></g></g></g>',
    "a list with commas": f'<g transform="translate(9 , 9),rotate(10),scale(.8)">{L}</g>',
    "transform-origin": '<rect x="30" y="30" width="40" height="15" transform="rotate(40)" '
    'style="transform-origin: 50px 40px"/>',
    "fill-box": '<rect x="30" y="30" width="40" height="15" '
    'style="transform-box:fill-box;transform-origin:center;transform:rotate(40deg)"/>',
    "css transform": f'<g style="transform: translate(10px, 5px) rotate(0.05turn)">{L}</g>',
}

PAGES = {
    "mm": _root('width="25.4mm" height="25.4mm" viewBox="0 0 25.4 25.4"', '<circle cx="12" cy="12" r="9"/>'),
    "in without viewBox": _root(
        'width="1in" height=".5in"', '<rect x=".1in" y="3mm" width="30pt" height="10px"/>'
    ),
    "pt": _root('width="72pt" height="36pt" viewBox="0 0 72 36"', '<circle cx="20" cy="15" r="12"/>'),
    "pc, cm, Q": _root('width="6pc" height="3pc"', '<rect x="1cm" y="10Q" width="2pc" height=".5cm"/>'),
    "px": _root('width="96px" height="48"', '<rect x="10" y="10" width="50" height="20"/>'),
    "lengths in a scaled page": _root(
        'width="1in" height="1in" viewBox="0 0 48 48"', '<rect x="1mm" y="6pt" width=".2in" height="20"/>'
    ),
    "percentages": _root(
        'width="1in" height=".5in" viewBox="0 0 200 100"',
        '<rect x="10%" y="10%" width="50%" height="30%"/><circle cx="80%" cy="60%" r="15%"/>'
        '<line x1="10%" y1="90%" x2="60%" y2="70%" stroke="black" stroke-width="5%"/>',
    ),
    "em and ex": _root(
        'width="1in" height="1in" font-size="10"',
        '<rect x="1em" y="1em" width="3em" height="2em"/>'
        '<g style="font-size:200%"><rect x="1em" y="3em" width="2em" height="1em"/></g>',
    ),
    "viewBox elsewhere": _root(
        'width="1in" height="1in" viewBox="-50 100 40 40"', '<circle cx="-30" cy="120" r="15"/>'
    ),
    "aspect default": _aspect("xMidYMid"),
    "aspect xMinYMin meet": _aspect("xMinYMin meet"),
    "aspect xMaxYMax": _aspect("xMaxYMax"),
    "aspect none": _aspect("none"),
    "aspect slice": _aspect("xMidYMid slice"),
    "aspect xMinYMin slice": _aspect("xMinYMin slice"),
    "aspect xMidYMax slice": _aspect("xMidYMax slice"),
    "aspect that is none": _aspect("middle"),
    "a transform of the whole page": _root(
        'width="1in" height="1in" viewBox="0 0 10 10" transform="rotate(20)"', '<path d="M1 1H9V3L2 9Z"/>'
    ),
    "off the page": _root('width="1in" height="1in"', '<circle cx="90" cy="20" r="40"/>'),
}  # fmt: skip

REUSE = {
    "use": f'<defs><g id="l">{L}</g></defs><use href="#l" x="30" y="10"/>',
    "use with a transform": f'<defs><g id="l" transform="scale(.5)">{L}</g></defs>'
    '<use xlink:href="#l" transform="rotate(20)" x="30" y="10"/><use href="#l" transform="translate(0 50)"/>',
    "use passes its style on": '<defs><rect id="r" width="30" height="20"/>'
    '<rect id="k" width="30" height="20" fill="black"/></defs>'
    '<use href="#r" x="5" y="5" fill="none" stroke="black" stroke-width="4"/>'
    '<use href="#k" x="50" y="50" fill="none"/>',
    "use of use": '<defs><rect id="r" width="10" height="10"/><g id="two"><use href="#r"/>'
    '<use href="#r" x="15" y="5"/></g></defs><use href="#two" x="10"/><use href="#two" x="10" y="40"/>',
    "symbol": '<symbol id="s" viewBox="0 0 10 20"><path d="M0 0H10V20L5 8Z"/></symbol>'
    '<use href="#s" x="10" y="10" width="70" height="60"/>',
    "symbol clips": '<symbol id="s" viewBox="0 0 10 10"><circle cx="8" cy="8" r="6"/></symbol>'
    '<use href="#s" x="10" y="10" width="60" height="60"/>',
    "symbol overflow visible": '<symbol id="s" viewBox="0 0 10 10" overflow="visible">'
    '<circle cx="8" cy="8" r="6"/></symbol><use href="#s" x="10" y="10" width="40" height="40"/>',
    "symbol aspect": '<symbol id="s" viewBox="0 0 10 10" preserveAspectRatio="xMaxYMin slice">'
    '<path d="M0 0H9V3L1 9Z"/></symbol><use href="#s" x="10" y="10" width="70" height="30"/>',
    "symbol without viewBox": '<symbol id="s"><circle cx="30" cy="30" r="25"/></symbol>'
    '<use href="#s" x="10" y="10" width="40" height="70"/>',
    "symbol without size": '<symbol id="s" viewBox="0 0 10 10"><path d="M0 0H9V3L1 9Z"/></symbol>'
    '<use href="#s"/>',
    "nested svg": '<svg x="10" y="20" width="60" height="40" viewBox="0 0 100 100">'
    '<circle cx="50" cy="50" r="70"/></svg>',
    "nested svg overflow visible": '<svg x="10" y="20" width="60" height="40" viewBox="0 0 100 100" '
    'overflow="visible"><circle cx="50" cy="50" r="70"/></svg>',
    "nested svg with percentages": '<svg x="10%" y="10%" width="50%" height="50%">'
    '<rect x="10%" y="10%" width="80%" height="50%"/></svg>',
    "nested svg turned": '<g transform="rotate(20 48 48)"><svg x="20" y="20" width="50" height="40">'
    '<circle cx="40" cy="20" r="28"/></svg></g>',
    "use of svg": '<defs><svg id="n" width="30" height="30" viewBox="0 0 10 10"><circle cx="6" cy="5" r="5"/>'
    '</svg></defs><use href="#n" x="5" y="5"/><use href="#n" x="40" y="40" width="50" height="50"/>',
    "switch": '<switch><rect systemLanguage="xx" width="96" height="96"/>'
    '<circle cx="48" cy="48" r="20"/><rect width="50" height="50"/></switch>',
    "symbol with a place of its own": '<symbol id="s" x="10" y="10" width="20" height="20" '
    'viewBox="0 0 10 10"><path d="M0 0H9V3L1 9Z"/></symbol><use href="#s" x="5" y="5"/>',
    "use of what is hidden where it stands": '<g display="none"><rect id="r" width="50" height="40"/></g>'
    '<use href="#r" x="20" y="20"/>',
    "a": '<a href="https://example.com/"><circle cx="48" cy="48" r="20"/></a>',
}

CLIPS = {
    "clip": '<clipPath id="c"><circle cx="40" cy="40" r="30"/></clipPath>'
    '<rect x="30" y="20" width="60" height="60" clip-path="url(#c)"/>',
    "clip of several": '<clipPath id="c"><circle cx="30" cy="30" r="20"/><rect x="40" y="40" width="30" '
    'height="40"/><path d="M60 5h30v30z" transform="rotate(10 70 20)"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip-rule nonzero": f'<clipPath id="c"><path d="{STAR}"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip-rule even-odd": f'<clipPath id="c"><path clip-rule="evenodd" d="{STAR}"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip-rule inherited": f'<clipPath id="c" clip-rule="evenodd"><path d="{STAR}"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip-rule and not fill-rule": f'<clipPath id="c"><path fill-rule="evenodd" d="{STAR}"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip without fill": '<clipPath id="c"><circle cx="40" cy="40" r="30" fill="none" stroke="black" '
    'stroke-width="30"/></clipPath><rect width="96" height="96" clip-path="url(#c)"/>',
    "clip objectBoundingBox": '<clipPath id="c" clipPathUnits="objectBoundingBox"><circle cx=".5" cy=".5" '
    'r=".5"/></clipPath><rect x="10" y="20" width="70" height="40" clip-path="url(#c)"/>',
    "clip objectBoundingBox of a turned group": '<clipPath id="c" clipPathUnits="objectBoundingBox">'
    '<path d="M0 0H1L.3 1Z"/></clipPath><g transform="rotate(20 48 48)" clip-path="url(#c)">'
    '<rect x="20" y="20" width="20" height="20"/>'
    '<path d="M40 50H80V70H40Z" transform="skewX(-10)"/></g>',
    "clip objectBoundingBox of a stroke": '<clipPath id="c" clipPathUnits="objectBoundingBox">'
    '<rect x="-.1" width=".6" height="2" y="-.5"/></clipPath>'
    f'<circle cx="48" cy="48" r="30" {LINE} clip-path="url(#c)"/>',
    "clip in the element's coordinates": '<clipPath id="c"><circle cx="20" cy="20" r="15"/></clipPath>'
    '<g transform="scale(2) rotate(10)" clip-path="url(#c)"><rect width="40" height="22"/></g>',
    "clip with a transform": '<clipPath id="c" transform="translate(10 20) scale(1.5)">'
    '<circle cx="20" cy="20" r="15"/></clipPath><rect width="60" height="90" clip-path="url(#c)"/>',
    "clip of a clip": '<clipPath id="a"><rect x="20" y="20" width="40" height="60"/></clipPath>'
    '<clipPath id="b" clip-path="url(#a)"><circle cx="30" cy="30" r="25"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#b)"/>',
    "clip of a clip's child": '<clipPath id="a"><rect x="20" y="20" width="40" height="60"/></clipPath>'
    '<clipPath id="b"><circle cx="30" cy="30" r="25" clip-path="url(#a)"/><rect x="50" y="60" width="40" '
    'height="20"/></clipPath><rect width="96" height="96" clip-path="url(#b)"/>',
    "clips of nested groups": '<clipPath id="a"><rect x="20" y="20" width="40" height="60"/></clipPath>'
    '<clipPath id="b"><circle cx="30" cy="30" r="25"/></clipPath><g clip-path="url(#a)">'
    '<g transform="translate(20 20)" clip-path="url(#b)"><rect width="96" height="96"/></g></g>',
    "clip by use": '<defs><circle id="o" cx="20" cy="20" r="18"/></defs><clipPath id="c">'
    '<use href="#o" x="20" y="10"/></clipPath><rect width="96" height="50" clip-path="url(#c)"/>',
    "clip by use of a group": '<defs><g id="o"><circle cx="20" cy="20" r="18"/></g></defs><clipPath id="c">'
    '<use href="#o" x="20" y="10"/><rect width="20" height="20"/></clipPath>'
    '<rect width="96" height="50" clip-path="url(#c)"/>',
    "clip with a hidden child": '<clipPath id="c"><circle cx="30" cy="30" r="20" display="none"/>'
    '<circle cx="60" cy="30" r="20" visibility="hidden"/><rect y="50" width="60" height="20" opacity="0"/>'
    '</clipPath><rect width="96" height="96" clip-path="url(#c)"/>',
    "clip without content": '<clipPath id="c"/><rect width="50" height="50" clip-path="url(#c)"/>'
    '<rect x="60" y="60" width="9" height="9"/>',
    "clip that is not there": '<rect width="50" height="50" clip-path="url(#none)"/>',
    "clip of use": '<clipPath id="c"><circle cx="20" cy="20" r="15"/></clipPath><defs>'
    '<rect id="r" width="30" height="30"/></defs><use href="#r" x="20" y="20" clip-path="url(#c)"/>',
    "clip of nested svg": '<clipPath id="c"><circle cx="6" cy="5" r="4"/></clipPath>'
    '<svg x="10" y="10" width="60" height="60" viewBox="0 0 10 10" clip-path="url(#c)">'
    '<rect width="10" height="10"/></svg>',
    "clip of nested svg, objectBoundingBox": '<clipPath id="c" clipPathUnits="objectBoundingBox">'
    '<circle cx=".5" cy=".5" r=".5"/></clipPath><svg x="10" y="10" width="60" height="60" '
    'viewBox="0 0 10 10" clip-path="url(#c)"><rect x="2" y="2" width="7" height="5"/></svg>',
    "clip of a symbol": '<clipPath id="c"><circle cx="6" cy="5" r="4"/></clipPath><symbol id="s" '
    'viewBox="0 0 10 10" clip-path="url(#c)"><rect width="10" height="10"/></symbol>'
    '<use href="#s" x="10" y="10" width="60" height="60"/>',
    "clip of a use of a symbol": '<clipPath id="c"><circle cx="50" cy="50" r="30"/></clipPath><symbol id="s" '
    'viewBox="0 0 10 10"><rect width="10" height="10"/></symbol>'
    '<use href="#s" x="10" y="10" width="60" height="60" clip-path="url(#c)"/>',
    "clip of a use, objectBoundingBox": '<clipPath id="c" clipPathUnits="objectBoundingBox">'
    '<circle cx=".5" cy=".5" r=".5"/></clipPath>'
    '<defs><rect id="r" x="2" y="2" width="37" height="25"/></defs>'
    '<use href="#r" x="30" y="20" clip-path="url(#c)"/>',
    "clip of the page": _root(
        'width="1in" height="1in" viewBox="0 0 10 10" clip-path="url(#c)"',
        '<clipPath id="c"><circle cx="48" cy="48" r="30"/></clipPath><rect width="10" height="10"/>',
    ),
    "clip of a clip, objectBoundingBox": '<clipPath id="a" clipPathUnits="objectBoundingBox">'
    '<rect width=".5" height="1"/></clipPath><clipPath id="b" clip-path="url(#a)"><circle cx="50" cy="50" '
    'r="25"/></clipPath><rect x="20" y="20" width="60" height="60" clip-path="url(#b)"/>',
    "clip with a transform, of a clip": '<clipPath id="a"><path d="M20 20h20v40h-20z"/></clipPath>'
    '<clipPath id="b" transform="scale(1.5)" clip-path="url(#a)"><circle cx="30" cy="30" r="25"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#b)"/>',
    "clip by groups": '<clipPath id="c"><g><circle cx="30" cy="30" r="20"/></g>'
    '<rect x="60" y="10" width="20" height="20"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip by use of use": '<defs><circle id="o" cx="30" cy="30" r="20"/><use id="u" href="#o"/></defs>'
    '<clipPath id="c"><use href="#u"/><rect x="60" y="10" width="20" height="20"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip by use of a symbol": '<symbol id="s"><circle cx="30" cy="30" r="20"/></symbol>'
    '<clipPath id="c"><use href="#s"/><rect x="60" y="10" width="20" height="20"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip without display": '<clipPath id="c" display="none"><circle cx="30" cy="30" r="20"/></clipPath>'
    '<rect width="96" height="96" clip-path="url(#c)"/>',
    "clip inside a hidden group": '<g display="none"><clipPath id="c"><circle cx="30" cy="30" r="20"/>'
    '</clipPath></g><rect width="96" height="96" clip-path="url(#c)"/>',
    "clip of a line, objectBoundingBox": '<clipPath id="c" clipPathUnits="objectBoundingBox">'
    '<rect width="1" height="1"/></clipPath><path d="M10 10H80" stroke="black" stroke-width="8" '
    'clip-path="url(#c)"/><rect width="5" height="5"/>',
    "clip of strokes": '<clipPath id="c"><rect x="20" y="20" width="40" height="40"/></clipPath>'
    f'<path d="{BEND}" {LINE} clip-path="url(#c)"/>',
    "clip by css": '<style>.k{clip-path:url("#c")}</style><clipPath id="c"><circle cx="40" cy="40" r="30"/>'
    '</clipPath><rect class="k" x="30" y="20" width="60" height="60"/>',
    "mask": '<mask id="m"><rect width="96" height="96" fill="white"/><circle cx="48" cy="48" r="20"/></mask>'
    '<rect x="10" y="10" width="70" height="70" mask="url(#m)"/>',
    "mask of nested svg": '<mask id="m" maskUnits="userSpaceOnUse" x="0" y="0" width="10" height="10">'
    '<circle cx="5" cy="5" r="4" fill="white"/></mask><svg x="10" y="10" width="60" height="60" '
    'viewBox="0 0 10 10" mask="url(#m)"><rect width="10" height="10"/></svg>',
    "mask of the bounding box": '<mask id="m" maskContentUnits="objectBoundingBox" x="0" y="0" width=".5" '
    'height="1"><circle cx=".5" cy=".5" r=".5" fill="white"/></mask>'
    '<rect x="10" y="20" width="70" height="40" mask="url(#m)"/>',
}

STYLES = {
    "class": '<style>.a{fill:none}</style><rect class="b a" width="50" height="50"/>'
    '<rect class="b" x="60" y="60" width="20" height="20"/>',
    "specificity": '<style>#r{fill:none} .a.b{fill:black} rect{fill:white}</style>'
    '<rect id="r" class="a b" width="50" height="50"/><rect class="a b" x="60" width="20" height="20"/>',
    "important": '<style>rect{fill:none!important}</style><rect style="fill:black" width="50" height="50"/>'
    '<circle cx="60" cy="60" r="20"/>',
    "important in style beats important sheet": '<style>rect{fill:none!important}</style>'
    '<rect style="fill:black!important" width="50" height="50"/>',
    "sheet over attribute": '<style>rect{fill:none}</style><rect fill="black" width="50" height="50"/>'
    '<circle cx="60" cy="60" r="20"/>',
    "inheritance": '<g fill="none" stroke="black"><g stroke-width="6"><circle cx="40" cy="40" r="25"/>'
    '<rect x="60" y="60" width="20" height="20" fill="inherit" stroke="none"/></g></g>',
    "currentColor": '<g color="white"><rect width="96" height="96"/><g color="black">'
    '<rect x="10" y="10" width="50" height="50" fill="currentColor"/></g>'
    '<circle cx="30" cy="30" r="10" fill="currentColor"/></g>',
    "combinators": '<style>g > rect{fill:none} g rect.k{fill:black} rect + circle{fill:none} '
    'circle:not(.x){stroke:black} [data-z="1"]{display:none}</style><g><rect width="20" height="20"/>'
    '<rect class="k" x="40" width="20" height="20"/><circle cx="50" cy="60" r="20"/></g>'
    '<rect data-z="1" width="50" height="50"/>',
    "nth-child": '<style>rect:nth-child(odd){display:none}</style><g><rect width="20" height="20"/>'
    '<rect x="30" width="20" height="20"/><rect x="60" width="20" height="20"/></g>',
    "media": '<style>@media print{rect{fill:none}} @media screen{circle{fill:none}}</style>'
    '<rect width="50" height="50"/><circle cx="60" cy="60" r="20"/>',
    "cdata": '<style><![CDATA[ g > rect { fill : none } ]]></style><g><rect width="50" height="50"/></g>'
    '<circle cx="60" cy="60" r="20"/>',
    "display none": '<g style="display:none"><rect width="50" height="50"/></g>'
    '<circle cx="60" cy="60" r="20"/>',
    "visibility": '<g visibility="hidden"><rect width="50" height="50"/>'
    '<circle cx="60" cy="60" r="20" visibility="visible"/></g>',
    "visibility collapse": '<rect width="50" height="50" visibility="collapse"/>'
    '<circle cx="60" cy="60" r="20"/>',
    "opacity 0": '<g opacity="0"><rect width="50" height="50"/></g><circle cx="60" cy="60" r="20"/>'
    '<rect fill-opacity="0" width="20" height="90"/><rect y="40" fill="#0000" width="20" height="90"/>',
    "colours": "".join(
        f'<rect x="{21 * (k % 4)}" y="{21 * (k // 4)}" width="20" height="20" fill="{ink}"/>'
        for k, ink in enumerate(
            ("#000", "rgb(0,0,0)", "rgb(0% 0% 0%)", "hsl(20,30%,0%)", "BLACK", "none", "#000000ff", "White")
        )
    ),
    "white over black": '<rect x="5" y="5" width="80" height="80"/>'
    '<circle cx="48" cy="48" r="30" fill="#fff"/><rect x="40" y="40" width="20" height="20"/>',
    "paint-order": '<circle cx="48" cy="48" r="30" stroke="white" stroke-width="16"/>'
    '<circle cx="15" cy="15" r="12" stroke="white" stroke-width="8" paint-order="stroke"/>',
    "geometry by css": '<style>rect{x:10px;y:5px;width:40px;height:20px;rx:5px}'
    'circle{cx:60px;cy:60px;r:20px}</style><rect/><circle/>',
    "values that are none": '<g fill="none" stroke="black" stroke-width="6" fill-rule="evenodd">'
    '<path d="M10 10H80" stroke-width="wide"/><path d="M10 30H80" style="stroke-width:-3"/>'
    f'<path transform="translate(0 50) scale(.5)" fill="black" fill-rule="oops" d="{STAR}"/>'
    '<rect x="50" y="50" width="30" height="30" fill="bananas" style="fill:light-dark(a, b)"/></g>',
    "lengths without units by css": '<style>rect{width:30;height:0}</style><rect width="10" height="20"/>'
    '<circle cx="60" cy="60" r="9"/>',
    "font, import and namespaces are no matter": '<style>@import "x.css"; @namespace url(x); @font-face{'
    'font-family:x;src:url(x.woff)} rect{fill:none}</style><rect width="20" height="20"/><circle r="30"/>',
    "is and where": '<style>:is(rect,circle){fill:none} :where(path){fill:none}</style>'
    '<rect width="50" height="20"/><path d="M30 30H50V50Z"/><ellipse cx="60" cy="60" rx="25" ry="15"/>',
    "root": '<style>:root{fill:none} svg > rect{fill:black}</style><rect width="20" height="20"/>'
    '<circle r="90"/>',
    "media of a sheet": '<style media="print">rect{fill:none}</style><rect width="50" height="20"/>',
    "initial": '<g fill="none" stroke="black" stroke-width="5"><rect width="40" height="40" fill="initial"/>'
    '<rect x="50" y="50" width="30" height="30" stroke="initial" fill="black"/></g>',
}  # fmt: skip

STROKES = {
    **{
        f"cap {cap}": f'<path d="M20 20L70 50" {LINE} stroke-linecap="{cap}"/>'
        for cap in ("butt", "round", "square")
    },
    **{
        f"join {join}": f'<path d="{BEND}" {LINE} stroke-linejoin="{join}"/>'
        for join in ("miter", "round", "bevel")
    },
    "miter limit 1": f'<path d="{BEND}" {LINE} stroke-miterlimit="1"/>',
    "miter limit 2.5": f'<path d="{BEND}" {LINE} stroke-miterlimit="2.5"/>',
    "miter limit 10": f'<path d="{BEND}" {LINE} stroke-miterlimit="10"/>',
    "fill and stroke": f'<path d="{STAR}" fill-rule="evenodd" stroke="black" stroke-width="3"/>',
    "rect": f'<rect x="20" y="20" width="50" height="40" {LINE}/>',
    "closed and open": f'<path d="M10 10H40V40H10ZM50 50H80V80H50L50 50" {LINE}/>',
    "curves": '<path d="M10 80C20 0 80 0 86 80S40 40 10 80" fill="none" stroke="black" stroke-width="6"/>',
    "tight curve, wide pen": '<path d="M20 70C20 20 30 20 34 60" fill="none" stroke="black" '
    'stroke-width="22"/>',
    "cusp": '<path d="M20 60C90 10 10 10 80 60" fill="none" stroke="black" stroke-width="8"/>',
    "ellipse": '<ellipse cx="48" cy="48" rx="35" ry="12" fill="none" stroke="black" stroke-width="7"/>',
    "dashes": f'<path d="{BEND}" {LINE} stroke-dasharray="12 5"/>',
    "dashes odd": f'<path d="{BEND}" {LINE} stroke-dasharray="12 5 3"/>',
    "dashes offset": f'<path d="{BEND}" {LINE} stroke-dasharray="12 5" stroke-dashoffset="7"/>',
    "dashes offset negative": f'<path d="{BEND}" {LINE} stroke-dasharray="12 5" stroke-dashoffset="-30"/>',
    "dashes with caps": '<path d="M10 80C20 0 80 0 86 80" fill="none" stroke="black" stroke-width="5" '
    'stroke-dasharray="10 12" stroke-linecap="round"/>',
    "dashes of a ring": f'<circle cx="48" cy="48" r="30" {LINE} stroke-dasharray="15 6"/>',
    "dashes of a rect": f'<rect x="20" y="20" width="50" height="40" {LINE} stroke-dasharray="15 6"/>',
    "dashes of several subpaths": '<path d="M10 15H50M10 40H90M20 60L80 90" '
    f'{LINE} stroke-dasharray="13 7"/>',
    "dots round": f'<path d="M10 15L80 50" stroke="black" {DOTS}/>',
    "dots square": f'<path d="M10 15L80 50" {LINE} stroke-dasharray="0 14" stroke-linecap="square"/>',
    "dots on a ring": f'<circle cx="48" cy="48" r="30" fill="none" stroke="black" {DOTS}/>',
    "dots up to the end": f'<path d="M10 20H82" stroke="black" {DOTS}/>',
    "dashes up to the end": f'<path d="M10 20H80" {LINE} stroke-dasharray="7 7" stroke-linecap="round"/>',
    "dashes that end at the start": f'<path d="M20 20H80" {LINE} stroke-dasharray="10 30" '
    'stroke-dashoffset="10" stroke-linecap="round"/>',
    "dashes around a corner": f'<rect x="20" y="20" width="50" height="40" {LINE} stroke-dasharray="20 20" '
    'stroke-linecap="round"/>',
    "a dash longer than the ring": f'<rect x="20" y="20" width="50" height="40" {LINE} '
    'stroke-dasharray="200 20" stroke-linecap="round"/>',
    "dashes without length": f'<path d="M10 20H80" {LINE} stroke-dasharray="0 0"/>',
    "dashes below 0": f'<path d="M10 20H80" {LINE} stroke-dasharray="5 -5"/>',
    "dashes in %": f'<path d="M10 15L80 50" {LINE} stroke-dasharray="10% 5%"/>',
    "pathLength": f'<path d="{BEND}" pathLength="10" {LINE} stroke-dasharray="1 .5"/>',
    "pathLength of several subpaths": '<path d="M10 15H50M10 40H90" pathLength="12" '
    f'{LINE} stroke-dasharray="1 1"/>',
    "pathLength 0": f'<path d="M10 20H80" pathLength="0" {LINE} stroke-dasharray="5"/>',
    "pathLength and offset": f'<path d="M10 20H80" pathLength="10" {LINE} stroke-dasharray="1 2" '
    'stroke-dashoffset="1.5"/>',
    "pathLength of a circle": f'<circle cx="48" cy="48" r="30" pathLength="8" {LINE} stroke-dasharray="1"/>',
    "zero length": '<g stroke="black" stroke-width="20"><path d="M20 20h0" stroke-linecap="round"/>'
    '<path d="M60 20z" stroke-linecap="square"/><path d="M20 60h0"/>'
    '<line x1="60" y1="60" x2="60" y2="60" stroke-linecap="round"/></g>',
    "doubling back": f'<path d="M20 30H70H40" {LINE} stroke-linejoin="round"/>'
    f'<path d="M20 70H70H40" {LINE} stroke-linejoin="miter"/>',
    "doubling back, closed": f'<path d="M20 30H70Z" {LINE} stroke-linejoin="round"/>',
    "doubling back, bevel": f'<path d="M20 30H70H40" {LINE} stroke-linejoin="bevel"/>',
    "scaled unevenly": f'<g transform="scale(1 .3)"><path d="M20 40L70 250L80 60" {LINE}/>'
    f'<circle cx="40" cy="240" r="20" {LINE}/></g>',
    "skewed": '<path d="M20 20L60 60L20 60" transform="matrix(1 .2 .8 .5 -20 10)" fill="none" stroke="black" '
    'stroke-width="9" stroke-linejoin="round" stroke-linecap="round"/>',
    "mirrored": f'<g transform="translate(96 0) scale(-1 1)"><path d="{BEND}" {LINE} '
    'stroke-dasharray="12 5"/></g>',
    "non-scaling-stroke": '<g transform="scale(3 .5)"><path d="M5 20L25 150L28 30" fill="none" '
    'stroke="black" stroke-width="7" vector-effect="non-scaling-stroke"/></g>',
    "width in %, in, em": '<g stroke="black" fill="none"><path d="M10 20H80" stroke-width="10%"/>'
    '<path d="M10 50H80" stroke-width=".1in"/><path d="M10 80H80" stroke-width="1em" font-size="7"/></g>',
    "polygon": f'<polygon points="20,20 80,30 40,80" {LINE}/>',
    "polyline": f'<polyline points="20,20 80,30 40,80" {LINE}/>',
    "thin lines": '<path d="M5 5L90 30M5 50L90 50" stroke="black" stroke-width="1.5"/>',
}  # fmt: skip

GROUPS = {
    "shapes": SHAPES,
    "transforms": TRANSFORMS,
    "pages": PAGES,
    "reuse": REUSE,
    "clips": CLIPS,
    "styles": STYLES,
    "strokes": STROKES,
}

FEATURES = {f"{group}: {name}": body for group, cases in GROUPS.items() for name, body in cases.items()}


def whole(body: str) -> str:
    """The file."""
    return body if body.startswith("<svg xmlns") else f"{PAGE}{body}</svg>"
