// A program of its own: reads `{"sources":[...],"layers":[...]}` from stdin. Writes one character to stdout when it begins to check, then
// the first fault of the layers, or nothing.
// MapLibre computes constant expressions while it checks them. A short style can describe one that takes hours or all memory.
import { writeSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { Script } from 'node:vm'
import { validateStyleMin } from '@maplibre/maplibre-gl-style-spec'

const { sources, layers } = JSON.parse((await buffer(process.stdin)).toString())
const vector = { type: 'vector', tiles: ['https://tiles.invalid/{z}/{x}/{y}'] }
const style = { version: 8, sources: Object.fromEntries(sources.map((id) => [id, vector])), layers }

/** Undefined: there is none. */
globalThis.firstFault = () => validateStyleMin(style)[0]?.message

// The caller counts the time from here: the timeout below does not end a long search in a text, which is one call of native code.
writeSync(1, '.')
try {
  const fault = new Script('firstFault()').runInThisContext({ timeout: 2_000 })
  process.stdout.end(fault ?? '')
} catch (error) {
  const text = error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? 'an expression takes too long' : error.message
  process.stdout.end(`layers: ${text}`)
}
