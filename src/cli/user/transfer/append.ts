import { quoteLiteral } from '../../../contract/text/quote.ts'
import { findPoints, type ImportPlan, importTarget, isNumber } from '../../../file-import/import-plan.ts'
import { UsageError } from '../../command-error.ts'
import type { Service } from '../service.ts'

/** Types by name. */
type Columns = ReadonlyMap<string, string>

/** The columns of the table; empty if it does not exist, which COPY reports later. */
export async function columnsOf({ client, signal }: Service, plan: ImportPlan): Promise<Columns> {
  const { rows } = await client.sql<{ name: string; type: string }>(columnsSql(importTarget(plan)), {
    signal,
  })
  return new Map(rows.map(({ name, type }) => [name, type]))
}

const columnsSql = (table: string) => `
select attname as name, pg_catalog.format_type(atttypid, atttypmod) as type from pg_catalog.pg_attribute
where attrelid = pg_catalog.to_regclass(${quoteLiteral(table)}) and attnum > 0 and not attisdropped`

/** The plan with the types of the table. Impossible points are refused before the first row is sent. */
export function fitPlan(read: ImportPlan, known: Columns, hasPointsOption: boolean): ImportPlan {
  if (known.size === 0) return read
  const columns = read.columns.map((column) => ({ ...column, type: known.get(column.name) ?? column.type }))
  if (hasPointsOption) checkPoints(read, known)
  const points = hasPointsOption ? read.points : hasPlace(read, known) ? findPoints(columns) : undefined
  return { ...read, columns, points }
}

const hasPlace = ({ isPrepared }: ImportPlan, known: Columns) => isPrepared || known.has('the_geom')

function checkPoints(plan: ImportPlan, known: Columns): void {
  const { lon, lat } = plan.points!
  for (const name of [lon, lat]) {
    const type = known.get(name)
    if (type !== undefined && !isNumber(type))
      throw new UsageError(`--points: the column ${name} of ${plan.table} is ${type}, not a number`)
  }
  if (!hasPlace(plan, known))
    throw new UsageError(`--points: ${plan.table} has no column the_geom, and --no-prepare does not add it`)
}
