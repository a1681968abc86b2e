import type { TilePlace } from '../contract/documents.ts'
import { errors } from '../errors.ts'
import { pageableStatement } from '../sql/query-kind.ts'
import { parseStatements } from '../sql/statements.ts'
import { type Lexeme, lexemes, textOf } from '../sql-text/lexemes.ts'
import { sizeOf } from '../tiles/tile-sql.ts'

/** `margin`: on each side, as a part of the tile. */
export type TileView = Readonly<{ place: TilePlace; margin: number }>

/** The SQL of a layer in parentheses, with the tokens of a place. */
export type LayerSql = (view: TileView) => string

/** Throws unless the text is one SELECT, VALUES or WITH that writes nothing. `!bbox!` and other tokens may be in it. */
export function readLayerSql(text: string): LayerSql {
  if (text.length > maxSqlLength)
    throw errors.mapInvalid(`The sql of a layer is longer than ${maxSqlLength} characters`)
  const parts = withoutEnd([...lexemes(text, token)].map(partOf))
  const fill = (view: TileView) => {
    const values = tokenValues(view)
    return parts.map((part) => (typeof part === 'string' ? part : ` ${values[part.token]} `)).join('')
  }
  requireSelect(fill(wholeWorld))
  // The line breaks end a comment at the end of the text.
  return (view) => `(\n${fill(view)}\n)`
}

function requireSelect(text: string): void {
  const parsed = parseStatements(text)
  if (!parsed.ok) throw errors.mapInvalid(parsed.message)
  if (!pageableStatement(text))
    throw errors.mapInvalid('The sql of a layer must be one SELECT that writes nothing')
}

/** For the plan of a layer, and statistics of it. */
export const wholeWorld: TileView = { place: { z: 0, x: 0, y: 0 }, margin: 0 }

const token = /!(?:bbox|pixel_width|pixel_height|scale_denominator)!/
type LayerToken = 'bbox' | 'pixel_width' | 'pixel_height' | 'scale_denominator'
type SqlPart = string | Readonly<{ token: LayerToken }>

const partOf = (lexeme: Lexeme): SqlPart =>
  lexeme.kind === 'hole' ? { token: lexeme.open.slice(1, -1) as LayerToken } : textOf(lexeme)

/** Without semicolons after the statement. */
function withoutEnd(parts: readonly SqlPart[]): readonly SqlPart[] {
  let end = parts.length
  for (let at = parts.length - 1; at >= 0; at--) {
    const part = parts[at]!
    if (part === ';') end = at
    else if (typeof part !== 'string' || !isBlank(part)) break
  }
  return parts.slice(0, end)
}

const isBlank = (text: string) => /^(\s|--|\/\*)/.test(text)

/** Without a quote, so that none of them ends a literal. */
function tokenValues({ place, margin }: TileView): Readonly<Record<LayerToken, string>> {
  const size = sizeOf(place)
  const pixel = size / pixelsOfTile
  const west = place.x * size - worldEdge
  const north = worldEdge - place.y * size
  const more = margin * size
  const box = [west - more, north - size - more, west + size + more, north + more]
  return {
    bbox: `postgis.st_makeenvelope(${box.join(', ')}, 3857)`,
    pixel_width: String(pixel),
    pixel_height: String(pixel),
    scale_denominator: String(pixel / metresOfPixel),
  }
}

export const maxSqlLength = 64 * 1024
export const pixelsOfTile = 256
export const worldEdge = Math.PI * 6378137
/** The size of a pixel on a screen, as defined by OGC. */
const metresOfPixel = 0.00028
