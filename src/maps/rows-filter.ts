import { isJsonObject, type JsonObject } from '../contract/text/json-object.ts'
import { quoteLiteral, quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'

/** The filter of a dataview: of categories, or of a range of numbers or dates. */
export type ColumnFilter = Readonly<{
  dataview: string
  column: string
  accept: readonly string[] | undefined
  reject: readonly string[] | undefined
  min: number | undefined
  max: number | undefined
}>

export function readColumnFilter(dataview: string, column: string, raw: unknown): ColumnFilter {
  const given = isJsonObject(raw) ? raw : ({} as JsonObject)
  const [min, max] = [given.min, given.max].map((value) => (isNumber(value) ? value : undefined))
  const [accept, reject] = [given.accept, given.reject].map((value) =>
    Array.isArray(value) ? value.map(literalOf) : undefined,
  )
  if ([accept, reject, min, max].every((value) => value === undefined))
    throw errors.dataviewInvalid(
      `The filter of dataview ${dataview.slice(0, 100)} needs accept, reject, min or max`,
    )
  return { dataview, column, accept, reject, min, max }
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

function literalOf(value: unknown): string {
  if (isNumber(value)) return String(value)
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return quoteLiteral(value)
  throw errors.dataviewInvalid('The categories of a filter must be numbers or texts')
}

/** `from` without the rows that the filters leave out. `dates`: columns whose range is in seconds since 1970. */
export function filteredRows(
  from: string,
  filters: readonly ColumnFilter[],
  dates: ReadonlySet<string>,
  conditions: readonly string[] = [],
): string {
  const all = [...filters.flatMap((filter) => conditionsOf(filter, dates)), ...conditions]
  return all.length === 0 ? from : `(select f.* from ${from} as f where ${all.join(' and ')})`
}

function conditionsOf(
  { column, accept, reject, min, max }: ColumnFilter,
  dates: ReadonlySet<string>,
): readonly string[] {
  const name = `f.${quoteName(column)}`
  const value = dates.has(column) ? `pg_catalog.date_part('epoch', ${name})` : name
  const compare = (operator: string, literal: string) => `${name} operator(pg_catalog.${operator}) ${literal}`
  return [
    accept && `(${accept.map((literal) => compare('=', literal)).join(' or ') || 'false'})`,
    reject && `(${reject.map((literal) => compare('<>', literal)).join(' and ') || 'true'})`,
    min === undefined ? undefined : `${value} operator(pg_catalog.>=) ${min}`,
    max === undefined ? undefined : `${value} operator(pg_catalog.<=) ${max}`,
  ].filter((each) => each !== undefined)
}
