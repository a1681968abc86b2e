// A program of its own: reads `{"sources":[...],"layers":[...]}` from stdin and writes the first fault of the layers to stdout, or nothing.
// MapLibre computes constant expressions while it checks them. A short style can describe one that takes hours or all memory.
import { buffer } from 'node:stream/consumers'
import { Script } from 'node:vm'
import { validateStyleMin } from '@maplibre/maplibre-gl-style-spec'

const { sources, layers } = JSON.parse((await buffer(process.stdin)).toString())
const vector = { type: 'vector', tiles: ['https://tiles.invalid/{z}/{x}/{y}'] }
const style = { version: 8, sources: Object.fromEntries(sources.map((id) => [id, vector])), layers }

/** Undefined: there is none. */
globalThis.firstFault = () => validateStyleMin(style)[0]?.message

try {
  const fault = new Script('firstFault()').runInThisContext({ timeout: 2_000 })
  process.stdout.end(fault ?? '')
} catch (error) {
  const text = error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'an expression takes too long' : error.message
  process.stdout.end(`layers: ${text}`)
}
