import { type AppError, errors } from '../errors.ts'
import type { GeometryOids } from './arrow/geometry-types.ts'
import type { Column } from './rows/columns.ts'

/** The usual name of a geometry in longitude and latitude, and of its copy in Web Mercator. */
export const usualGeometry = 'the_geom'
export const mercatorGeometry = 'the_geom_webmercator'

/** What PostgreSQL says of a result, and the types of PostGIS in its database. */
export type DescribedResult = Readonly<{ columns: readonly Column[]; oids: GeometryOids }>

export const isGeometry = ({ typeOid }: Column, { geometry, geography }: GeometryOids) =>
  typeOid === geometry || typeOid === geography

/**
 * The place of the column that is the geometry of a file: `the_geom`, else the first geometry, that of Web Mercator last. A
 * `the_geom` of another type, such as text, counts if there is no geometry.
 */
export function geometryPlace(
  { columns, oids }: DescribedResult,
  skipped: ReadonlySet<string>,
): number | undefined {
  const find = (isWanted: (column: Column) => boolean) => {
    const place = columns.findIndex(isWanted)
    return place < 0 ? undefined : place
  }
  const isShown = (column: Column) => isGeometry(column, oids) && !skipped.has(column.name)
  return (
    find((column) => column.name === usualGeometry && isGeometry(column, oids)) ??
    find((column) => column.name !== mercatorGeometry && isShown(column)) ??
    find(isShown) ??
    find(({ name }) => name === usualGeometry)
  )
}

/** For a format that has no rows without a geometry. */
export function geometryMissing(
  format: string,
  { columns }: DescribedResult,
  skipped: ReadonlySet<string>,
): AppError {
  const names = columns.map(({ name }) => name).filter((name) => !skipped.has(name))
  const listed = names.slice(0, mostListed).join(', ')
  const more = names.length > mostListed ? ` and ${names.length - mostListed} more` : ''
  const has = names.length === 0 ? 'no column' : `only ${listed}${more}`
  return errors.badRequest(
    `The format ${format} needs a geometry column, such as ${usualGeometry}: the result has ${has}`,
  )
}

const mostListed = 20
