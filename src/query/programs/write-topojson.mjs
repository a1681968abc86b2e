// A program of its own: reads GeoJSON from stdin and writes TopoJSON to stdout, with one object for each feature that has a geometry.
import { buffer } from 'node:stream/consumers'
import { isSafeNumber, LosslessNumber, parse, stringify } from 'lossless-json'
import { topology } from 'topojson-server'

const text = (await buffer(process.stdin)).toString()
const { features } = parse(text, undefined, (value) =>
  isSafeNumber(value) ? Number(value) : new LosslessNumber(value),
)
const drawn = features.filter(({ geometry }) => geometry !== null)
for (const { geometry } of drawn) toNumbers(geometry)
process.stdout.end(stringify(topology(drawn, gridSize())))

/** Properties keep all digits; coordinates are numbers. */
function toNumbers(geometry) {
  if (geometry.geometries) for (const part of geometry.geometries) toNumbers(part)
  else geometry.coordinates = numbersOf(geometry.coordinates)
}

function numbersOf(value) {
  return Array.isArray(value) ? value.map(numbersOf) : Number(value)
}

/** Coordinates are on a grid of so many columns and rows, as in the classic service. */
function gridSize() {
  return 1e4
}
