/** What GeoParquet 1.1 cannot hold. */
export class UnfitGeometry extends Error {}

/** The geometry columns of a schema, by the metadata of GeoArrow. */
export function geoColumns(schema) {
  return schema.fields.flatMap(({ name, metadata }, place) => {
    if (metadata.get('ARROW:extension:name') !== 'geoarrow.wkb') return []
    const { crs, edges } = JSON.parse(metadata.get('ARROW:extension:metadata') ?? '{}')
    const srid = crs === 'OGC:CRS84' ? 4326 : Number(/^EPSG:(\d+)$/.exec(crs ?? '')?.[1] ?? 0)
    return [{ name, place, srid, edges, crs: null, types: new Set(), box: emptyBox(), hasZ: false, rows: 0 }]
  })
}

/** Minima of x, y, z, then maxima. */
const emptyBox = () => [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity]

/** The value of the key `geo`, in ASCII. */
export function geoMetadata(columns) {
  const primary = columns.find(({ name }) => name === 'the_geom') ?? columns[0]
  const text = JSON.stringify({
    version: '1.1.0',
    primary_column: primary.name,
    columns: Object.fromEntries(columns.map((column) => [column.name, columnMetadata(column)])),
  })
  return text.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function columnMetadata({ crs, edges, types, box, hasZ }) {
  const bounds = hasZ ? box : [box[0], box[1], box[3], box[4]]
  return {
    encoding: 'WKB',
    geometry_types: [...types].sort(),
    crs,
    ...(edges && { edges }),
    ...(bounds.every(Number.isFinite) && { bbox: bounds }),
  }
}

/** Reads types and extent of a batch. */
export function noteGeometries(columns, batch) {
  for (const column of columns) {
    const [data] = [batch.data.children[column.place]]
    const { valueOffsets, values, nullBitmap, length, offset } = data
    const view = new DataView(values.buffer, values.byteOffset, values.byteLength)
    for (let row = 0; row < length; row += 1) {
      const bit = offset + row
      if (data.nullCount > 0 && !(nullBitmap[bit >> 3] & (1 << (bit & 7)))) continue
      column.row = column.rows + row + 1
      noteGeometry(column, view, valueOffsets[row])
    }
    column.rows += length
  }
}

/** Returns where the geometry ends. */
function noteGeometry(column, view, at, isPart = false) {
  const code = view.getUint32(at + 1, true)
  const type = code % 1000
  const dimensions = Math.floor(code / 1000)
  const name = typeNames[type]
  if (name === undefined || dimensions > 1) {
    const what = dimensions > 1 ? 'a geometry with M' : 'a geometry with curves or triangles'
    throw new UnfitGeometry(`${what} in column ${column.name}, row ${column.row}`)
  }
  const hasZ = dimensions === 1
  column.hasZ ||= hasZ
  if (!isPart) column.types.add(hasZ ? `${name} Z` : name)
  if (type === 1) return notePoints(column, view, at + 5, 1, hasZ)
  const count = view.getUint32(at + 5, true)
  let next = at + 9
  if (type === 2) return notePoints(column, view, next, count, hasZ)
  for (let part = 0; part < count; part += 1) {
    if (type === 3) next = notePoints(column, view, next + 4, view.getUint32(next, true), hasZ)
    else next = noteGeometry(column, view, next, true)
  }
  return next
}

function notePoints({ box }, view, start, count, hasZ) {
  const step = hasZ ? 24 : 16
  const end = start + count * step
  for (let at = start; at < end; at += step) {
    const x = view.getFloat64(at, true)
    const y = view.getFloat64(at + 8, true)
    // Comparisons with NaN, of an empty point, are false.
    if (x < box[0]) box[0] = x
    if (y < box[1]) box[1] = y
    if (x > box[3]) box[3] = x
    if (y > box[4]) box[4] = y
    if (!hasZ) continue
    const z = view.getFloat64(at + 16, true)
    if (z < box[2]) box[2] = z
    if (z > box[5]) box[5] = z
  }
  return end
}

const typeNames = {
  1: 'Point',
  2: 'LineString',
  3: 'Polygon',
  4: 'MultiPoint',
  5: 'MultiLineString',
  6: 'MultiPolygon',
  7: 'GeometryCollection',
}
