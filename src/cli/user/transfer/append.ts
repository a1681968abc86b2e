import { hasCode } from '../../../client/cartage-error.ts'
import { quoteLiteral, quoteName } from '../../../contract/text/quote.ts'
import { importTarget, isNumber, type Points } from '../../../file-import/import-plan.ts'
import type { ImportWishes, PlannedImport } from '../../../file-import/plan-import.ts'
import { UsageError } from '../../command-error.ts'
import type { Terminal } from '../../terminal.ts'
import type { Service } from '../service.ts'

/** Types by name. */
type Columns = ReadonlyMap<string, string>

/** The columns of the table that rows can be stored in; undefined if it does not exist, which COPY reports later. */
export async function columnsOf(
  { client, signal }: Service,
  wishes: ImportWishes,
): Promise<Columns | undefined> {
  const { rows } = await client.sql<{ name: string; type: string }>(columnsSql(importTarget(wishes)), {
    signal,
  })
  return rows.length === 0 ? undefined : new Map(rows.map(({ name, type }) => [name, type]))
}

const columnsSql = (table: string) => `
select attname as name, pg_catalog.format_type(atttypid, atttypmod) as type from pg_catalog.pg_attribute
where attrelid = pg_catalog.to_regclass(${quoteLiteral(table)}) and attnum > 0 and not attisdropped and attgenerated = ''`

/** Refuses points that cannot be made before the first row is sent. */
export function checkPoints({ points, table, known }: ImportWishes): void {
  if (!points || !known) return
  for (const name of [points.lon, points.lat]) {
    const type = known.get(name)
    if (type !== undefined && !isNumber(type))
      throw new UsageError(`--points: the column ${name} of ${table} is ${type}, not a number`)
  }
  if (!known.has('the_geom'))
    throw new UsageError(
      `--points: ${table} has no column the_geom: prepare it for maps first (cartage table prepare ${table})`,
    )
}

/**
 * The points of an upsert without --points: those of the file, if each geometry of the table is the point of its
 * coordinates. Other geometries, such as areas or points moved by hand, are never replaced. The check reads the whole table:
 * if the time for a statement is too short for it, no point moves, and the command goes on and says so.
 */
export async function pointsOfUpdated(
  { client, signal }: Service,
  terminal: Terminal,
  { plan, possiblePoints }: Pick<PlannedImport, 'plan' | 'possiblePoints'>,
  { points, known }: ImportWishes,
): Promise<ImportWishes['points']> {
  const isChosen = points !== undefined || plan.points || !possiblePoints || !known
  if (isChosen || !known.has(possiblePoints.lon) || !known.has(possiblePoints.lat)) return points
  const check = othersSql(importTarget(plan), possiblePoints)
  const { rows } = await client.sql<{ others: boolean }>(check, { signal }).catch((error: unknown) => {
    if (!hasCode(error, 'statement-timeout')) throw error
    terminal.say(`${plan.table} is too large to see in time whether each geometry is the point of its row`)
    return { rows: [{ others: true }] }
  })
  return rows[0]!.others ? null : possiblePoints
}

const othersSql = (table: string, { lon, lat }: Points) => `
select exists (select from ${table} where the_geom is not null and (the_geom::geometry = st_setsrid(
  st_makepoint(${quoteName(lon)}::float8, ${quoteName(lat)}::float8), 4326)) is not true) as others`
