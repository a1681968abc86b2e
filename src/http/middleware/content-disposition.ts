import { harmlessName } from './download/harmless-name.ts'

/** `attachment` with a file name for every client: in plain ASCII, and the true one by RFC 5987 if it differs. `isDrawing`: an SVG that we made ourselves. */
export function contentDisposition(filename: string, isDrawing = false): string {
  const name = isDrawing ? `${harmlessName(filename.slice(0, -'.svg'.length))}.svg` : harmlessName(filename)
  // Some browsers decode %2E and =?utf-8?Q?=2E?= in the plain name.
  const plain = name.replace(/[^\x20-\x7e]|[\\%?]/g, '_').replaceAll('"', "'")
  const header = `attachment; filename="${plain}"`
  return plain === name ? header : `${header}; filename*=UTF-8''${encodeExtended(name)}`
}

function encodeExtended(name: string): string {
  return [...Buffer.from(name)].map(encodeByte).join('')
}

function encodeByte(byte: number): string {
  const char = String.fromCharCode(byte)
  return /[A-Za-z0-9!#$&+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}
