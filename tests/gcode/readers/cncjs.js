// A program on stdin → JSON of what a reader of CNCjs tells.
//   node cncjs.js interpreter    [[command, {letter: number}], …]
//   node cncjs.js toolpath       [[G word, [x, y] of start, [x, y] of end, [x, y] of an arc's centre], …]
'use strict';

const text = require('fs').readFileSync(0, 'utf8');
const received = [];
if (process.argv[2] === 'interpreter') {
    const Interpreter = require('gcode-interpreter');
    const handler = (command, letters) => received.push([command, letters]);
    new Interpreter({ defaultHandler: handler }).loadFromStringSync(text);
} else {
    const Toolpath = require('gcode-toolpath');
    const xy = (v) => [v.x, v.y];
    new Toolpath({
        addLine: (modal, v1, v2) => received.push([modal.motion, xy(v1), xy(v2)]),
        addArcCurve: (modal, v1, v2, v0) => received.push([modal.motion, xy(v1), xy(v2), xy(v0)]),
    }).loadFromStringSync(text);
}
process.stdout.write(JSON.stringify(received));
