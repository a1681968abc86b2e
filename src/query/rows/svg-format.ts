import type { ByteWriter } from './byte-writer.ts'
import type { RowFormat } from './row-format.ts'

/**
 * A drawing of 1024 by 768 pixels, as of the classic service. The statement has been wrapped: its columns are the extent in pixels, the
 * dimension of the geometry, and its path by ST_AsSVG, points first.
 */
export class SvgFormat implements RowFormat {
  readonly hasFields = false
  #hasBegun = false

  begin(): void {}
  columns(): void {}

  row(out: ByteWriter, row: Buffer, start: number): void {
    for (const _ of this.longRow(out, row, start));
  }

  *longRow(out: ByteWriter, row: Buffer, start: number): Generator<void> {
    const [box, dimension, path] = valuesOf(row, start)
    if (!box || !dimension || !path || path.start === path.end) return
    if (!this.#hasBegun) this.#begin(out, row.toString('latin1', box.start, box.end))
    const isPoint = row[dimension.start] === digitZero
    out.ascii(isPoint ? `<circle r="${radius}" ` : '<path d="')
    for (let at = path.start; at < path.end; at += sliceBytes) {
      out.copy(row, at, Math.min(path.end, at + sliceBytes))
      yield
    }
    out.ascii(isPoint ? ' />\n' : '" />\n')
  }

  end(out: ByteWriter): void {
    if (!this.#hasBegun) this.#begin(out, '')
    out.ascii('</svg>\n')
  }

  #begin(out: ByteWriter, box: string): void {
    this.#hasBegun = true
    out.ascii(
      `${head}<svg ${viewBox(box)}style="${style}" xmlns="http://www.w3.org/2000/svg" version="1.1">\n`,
    )
  }
}

type ValueRange = Readonly<{ start: number; end: number }> | undefined

function valuesOf(row: Buffer, start: number): readonly ValueRange[] {
  let at = start + 2
  return Array.from({ length: row.readInt16BE(start) }, () => {
    const length = row.readInt32BE(at)
    const from = at + 4
    at = length < 0 ? from : from + length
    return length < 0 ? undefined : { start: from, end: at }
  })
}

/** The view box of `BOX(x y,X Y)`, with room for the dots and lines at its edges. */
function viewBox(box: string): string {
  const numbers = /^BOX\((\S+) (\S+),(\S+) (\S+)\)$/.exec(box)?.slice(1).map(Number)
  if (!numbers?.every(Number.isFinite)) return ''
  const [left, bottom, right, top] = numbers as [number, number, number, number]
  const room = radius + strokeWidth
  const size = `${right - left + 2 * room} ${top - bottom + 2 * room}`
  return `viewBox="${left - room} ${-(top + room)} ${size}" `
}

/** The wrapped statement. The functions in `cartodb` check their arguments. Collections and groups of points are drawn part by part: each is an element. */
export function svgStatement(select: string, geometry: string, decimals: number): string {
  const scaled = (value: string) =>
    `postgis.ST_TransScale(${value}, operator(pg_catalog.-) x0, operator(pg_catalog.-) y0, s, s)`
  const kinds = `array['ST_GeometryCollection', 'ST_MultiPoint']`
  const isGroup = `postgis.ST_GeometryType(g) operator(pg_catalog.=) ANY (${kinds})`
  const over = 'operator(pg_catalog./)'
  return `WITH cartage_source AS (SELECT ${geometry} AS g FROM (
${select}
) AS cartage_features), cartage_extent AS (
  SELECT e, postgis.ST_XMin(e) AS x0, postgis.ST_YMax(e) AS y0,
    postgis.ST_XMax(e) operator(pg_catalog.-) postgis.ST_XMin(e) AS w,
    postgis.ST_YMax(e) operator(pg_catalog.-) postgis.ST_YMin(e) AS h
  FROM (SELECT postgis.ST_Extent(g) AS e FROM cartage_source) AS cartage_box
), cartage_scale AS (
  SELECT e, x0, y0, CASE
    WHEN h operator(pg_catalog.=) 0 AND w operator(pg_catalog.=) 0 THEN 1
    WHEN h operator(pg_catalog.=) 0 THEN ${width} ${over} w
    WHEN w ${over} h operator(pg_catalog.>=) ${width / height} THEN ${width} ${over} w
    ELSE ${height} ${over} h END AS s
  FROM cartage_extent
)
SELECT ${scaled('e::postgis.geometry')}::postgis.box2d::pg_catalog.text AS box, postgis.ST_Dimension(part) AS dimension,
  cartodb.ST_AsSVG(${scaled('part')}, 0, ${decimals}) AS path
FROM cartage_scale, cartage_source CROSS JOIN LATERAL (
  SELECT (cartodb.ST_Dump(g)).geom AS part WHERE ${isGroup} UNION ALL SELECT g WHERE NOT ${isGroup}
) AS cartage_parts ORDER BY 2`
}

const width = 1024
const height = 768
const radius = 5
const strokeWidth = 1
const style = `fill-opacity:0.5; stroke:black; stroke-width:${strokeWidth}; fill:none`
const head = `<?xml version="1.0" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
`
const digitZero = 48
const sliceBytes = 8192
