import { quoteName } from '../../contract/text/quote.ts'
import {
  type DescribedResult,
  geometryPlace,
  isGeometry,
  mercatorGeometry,
  usualGeometry,
} from '../geometry-column.ts'
import { inLonLat } from '../prepare-statement.ts'
import type { Around } from '../query.ts'
import type { FileRules } from './file-rules.ts'

/** What a file has of the columns of a result, and the SELECT that asks for it. */
export type FileShape = Readonly<{
  /** The column that is the geometry of the file, as the query names it. Undefined: there is none. */
  geometry: string | undefined
  /** Of the columns that come after it, those that are further geometries, as text. */
  texts: ReadonlySet<number>
  /** Geometries that the file has no place for. */
  leftOut: readonly string[]
  around: Around
}>

/**
 * `the_geom_webmercator` is left out beside `the_geom`, of which it is a copy. For the geometry come the columns of `geometryList`, which
 * the others follow.
 */
export function fileShape(
  rules: FileRules,
  described: DescribedResult,
  skipped: ReadonlySet<string>,
  geometryList: (geometry: string, rules: FileRules) => readonly string[] = wkbColumns,
): FileShape {
  const { columns, oids } = described
  const main = rules.geometry === 'none' ? undefined : geometryPlace(described, skipped)
  const hasUsual = columns.some((column) => column.name === usualGeometry && isGeometry(column, oids))
  const isCopy = (name: string) => hasUsual && name === mercatorGeometry
  const wanted = columns.flatMap((column, place) => {
    if (place === main || skipped.has(column.name)) return []
    const isShape = isGeometry(column, oids)
    return isShape && isCopy(column.name) ? [] : [{ name: column.name, place, isShape }]
  })
  const isKept = ({ isShape }: (typeof wanted)[number]) => !isShape || rules.geometry !== 'none'
  const kept = wanted.filter(isKept)
  const list = kept.map(
    ({ name, place, isShape }) => `${isShape ? asText(`c${place}`) : `c${place}`} AS ${quoteName(name)}`,
  )
  return {
    geometry: main === undefined ? undefined : columns[main]!.name,
    texts: new Set(kept.flatMap(({ isShape }, at) => (isShape ? [at] : []))),
    leftOut: wanted.filter((column) => !isKept(column)).map(({ name }) => name),
    around: {
      list: [...(main === undefined ? [] : geometryList(`c${main}::postgis.geometry`, rules)), ...list].join(
        ', ',
      ),
      // By place, as columns may share a name.
      after: columns.length === 0 ? '' : `(${columns.map((_, place) => `c${place}`).join(', ')})`,
    },
  }
}

/**
 * As hexadecimal WKB in longitude and latitude, and its traits: `e` if it is empty, `a` if it has arcs, `o` if it has no
 * reference system, `x` and `y` if it lies beyond the longitudes and latitudes that there are. These are sought only where
 * they matter, as that reads all coordinates.
 */
const wkbColumns = (geometry: string, { isLonLat }: FileRules) => [
  `pg_catalog.encode(postgis.ST_AsBinary(${inLonLat(geometry)}, 'NDR'), 'hex') AS cartage_wkb`,
  `CASE WHEN postgis.ST_IsEmpty(${geometry}) THEN 'e' ELSE pg_catalog.concat(
    CASE WHEN postgis.ST_HasArc(${geometry}) THEN 'a' END,
    CASE WHEN postgis.ST_SRID(${geometry}) IN (${isLonLat ? '0, 4326' : '0'}) THEN pg_catalog.concat(
      CASE WHEN postgis.ST_SRID(${geometry}) = 0 THEN 'o' END, CASE WHEN ${isBeyond('X', 180, geometry)} THEN 'x' END,
      CASE WHEN ${isBeyond('Y', 90, geometry)} THEN 'y' END) END) END AS cartage_traits`,
]

/** As PostGIS itself writes it: hexadecimal EWKB. */
export const ewkbColumn = (geometry: string) => [`${inLonLat(geometry)} AS cartage_ewkb`]

/** An operator of a tenant, which the search path finds, must not run as the one who exports. */
const isBeyond = (axis: 'X' | 'Y', most: number, geometry: string) =>
  [`${axis}Min(${geometry}) operator(pg_catalog.<) '-`, `${axis}Max(${geometry}) operator(pg_catalog.>) '`]
    .map((comparison) => `postgis.ST_${comparison}${most}.00000001'::pg_catalog.float8`)
    .join(' OR ')

/** With its reference system, and with every bit of its coordinates. */
const asText = (geometry: string) => `postgis.ST_AsEWKT(${geometry}::postgis.geometry, 30)`
