import { FileError } from './fail.mjs'

/**
 * The geometry columns by the metadata of GeoParquet: place and SRID (0: unknown), the main one first. Those without a
 * reference system have longitude and latitude, says GeoParquet.
 */
export function geometriesOfGeo(schema, text) {
  const { columns, primary_column: primary } = parsed(text)
  if (typeof columns !== 'object' || columns === null)
    throw new FileError(2001, 'the metadata "geo" of the file name no columns')
  const found = schema.fields.flatMap(({ name }, place) => {
    if (!Object.hasOwn(columns, name)) return []
    const { encoding, crs } = columns[name] ?? {}
    checkEncoding(name, encoding)
    return [{ name, place, srid: crs === undefined ? 4326 : sridOf(name, crs) }]
  })
  return mainFirst(found, primary)
}

/** The geometry columns by the metadata of GeoArrow. */
export function geometriesOfSchema(schema) {
  const found = schema.fields.flatMap(({ name, metadata }, place) => {
    const extension = metadata.get('ARROW:extension:name') ?? ''
    if (extension !== 'ogc.wkb' && !extension.startsWith('geoarrow.')) return []
    checkEncoding(name, extension.replace(/^\w+\./, ''))
    const { crs } = parsed(metadata.get('ARROW:extension:metadata') || '{}')
    return [{ name, place, srid: crs === undefined ? 0 : sridOf(name, crs) }]
  })
  return mainFirst(found, 'the_geom')
}

/** The web mercator column of our tables is computed again. */
function mainFirst(found, primary) {
  const main = found.find(({ name }) => name === primary) ?? found[0]
  if (main === undefined) return []
  const others = found.filter((column) => column !== main)
  return [
    main,
    ...others.map((column) => ({ ...column, isComputed: column.name === 'the_geom_webmercator' })),
  ]
}

function checkEncoding(name, encoding) {
  if (String(encoding).toUpperCase() !== 'WKB')
    throw new FileError(2001, `the geometries in column ${name} are not WKB but ${encoding}`)
}

function parsed(text) {
  try {
    return Object(JSON.parse(text))
  } catch {
    throw new FileError(2001, 'the metadata of the geometries are not JSON')
  }
}

/** Of PROJJSON, a code such as EPSG:25830, or WKT. */
function sridOf(column, crs) {
  if (crs === null || crs === '') return 0
  const id = typeof crs === 'string' ? idInText(crs) : idInProjJson(crs)
  const srid = sridOfId(id)
  if (srid === undefined)
    throw new FileError(
      3008,
      `the reference system of column ${column} is not known: ${id?.authority ? `${id.authority}:${id.code}` : String(crs.name ?? crs).slice(0, 200)}`,
    )
  return srid
}

function idInText(text) {
  const code = /^\s*(?:urn:ogc:def:crs:)?(\w+):(?:[\d.]*:)?(\w+)\s*$/i.exec(text)
  if (code) return { authority: code[1], code: code[2] }
  const wkt = /(?:ID|AUTHORITY)\s*\[\s*"(\w+)"\s*,\s*"?(\w+)"?[^\]]*\]\s*\]\s*$/.exec(text)
  if (wkt) return { authority: wkt[1], code: wkt[2] }
  return /^\s*\{/.test(text) ? idInProjJson(parsed(text)) : undefined
}

/** Of a system of several parts, that of the one for the plane. */
function idInProjJson({ id, components, source_crs: source }, depth = 0) {
  if (id || depth > 3) return id
  const part = components?.[0] ?? source
  return part ? idInProjJson(part, depth + 1) : undefined
}

function sridOfId(id) {
  const authority = String(id?.authority).toUpperCase()
  const code = String(id?.code)
  if (authority === 'OGC') return lonLat[code.toUpperCase()]
  const isKnown = (authority === 'EPSG' || authority === 'ESRI') && /^\d{1,6}$/.test(code)
  return isKnown && Number(code) > 0 ? Number(code) : undefined
}

const lonLat = { CRS84: 4326, CRS84H: 4326, CRS83: 4269, CRS27: 4267 }
