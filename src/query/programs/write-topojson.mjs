// A program of its own: reads GeoJSON from stdin and writes TopoJSON to stdout, with one object for each feature that has a geometry.
import { buffer } from 'node:stream/consumers'
import { isSafeNumber } from 'lossless-json'
import { topology } from 'topojson-server'

const { features } = JSON.parse(markLongNumbers((await buffer(process.stdin)).toString()))
const drawn = features.filter(({ geometry }) => geometry !== null)
for (const { geometry } of drawn) toNumbers(geometry)
process.stdout.end(unmarkNumbers(JSON.stringify(topology(drawn, gridSize()))))

/** A number with more digits than JavaScript keeps becomes a text that begins with NUL, which no text of PostgreSQL has. */
function markLongNumbers(text) {
  return text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[-+.\deE]{15,}/g, (found) =>
    found[0] === '"' || isSafeNumber(found) ? found : `"\\u0000${found}"`,
  )
}

function unmarkNumbers(text) {
  return text.replaceAll(/"\\u0000([-+.\deE]+)"/g, '$1')
}

/** Properties keep all digits; coordinates are numbers. */
function toNumbers(geometry) {
  if (geometry.geometries) for (const part of geometry.geometries) toNumbers(part)
  else geometry.coordinates = numbersOf(geometry.coordinates)
}

function numbersOf(value) {
  if (Array.isArray(value)) return value.map(numbersOf)
  return typeof value === 'string' ? Number(value.slice(1)) : value
}

/** Coordinates are on a grid of so many columns and rows, as in the classic service. */
function gridSize() {
  return 1e4
}
