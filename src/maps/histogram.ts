import type { JsonObject } from '../contract/text/json-object.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import {
  askAll,
  askOne,
  type DataviewRequest,
  type DataviewRows,
  finite,
  unusualSql,
} from './dataview-sql.ts'

/** Numbers in bins of one width. Dates count as seconds since 1970. */
export async function numberHistogram(
  session: Session,
  { from, column, kind }: DataviewRows,
  { start, end, bins }: Pick<DataviewRequest, 'start' | 'end' | 'bins'>,
): Promise<JsonObject> {
  const value = `(${kind === 'date' ? `pg_catalog.date_part('epoch', ${column})` : finite(column, kind)})::pg_catalog.float8`
  const limits = [
    start === undefined ? [] : `${value} operator(pg_catalog.>=) ${start}`,
    end === undefined ? [] : `${value} operator(pg_catalog.<=) ${end}`,
  ].flat()
  const where = limits.length === 0 ? '' : ` where ${limits.join(' and ')}`
  const basics = await askOne(
    session,
    `select pg_catalog.min(${value}) as least, pg_catalog.max(${value}) as most, pg_catalog.count(${value}) as n, pg_catalog.avg(${value}) as mean,
      pg_catalog.percentile_cont(0.75) within group (order by ${value}) operator(pg_catalog.-) pg_catalog.percentile_cont(0.25) within group (order by ${value}) as spread,
      ${unusualSql(column, kind)} from ${from} as t${where}`,
  )
  const { least, most, n, mean, spread, nulls, nans, infinities } = basics as Record<string, number | null>
  const low = start ?? least ?? 0
  const high = end ?? most ?? 0
  const count = Math.min(mostBins, bins ?? binsFor(high - low, n ?? 0, spread ?? 0))
  const place =
    high > low
      ? `least(pg_catalog.width_bucket(${value}, ${low}, ${high}, ${count}), ${count}) operator(pg_catalog.-) 1`
      : '0'
  const found = await askAll(
    session,
    `select ${place} as bin, pg_catalog.min(${value}) as min, pg_catalog.max(${value}) as max, pg_catalog.avg(${value}) as avg, pg_catalog.count(*) as freq
      from ${from} as t${where}${where ? ' and' : ' where'} ${value} is not null group by 1 order by 1`,
  )
  return {
    bin_width: (high - low) / count,
    bins_count: count,
    bins_start: low,
    nulls,
    infinities,
    nans,
    avg: mean,
    bins: found,
  }
}

const mostBins = 1_000

/** By the rule of Freedman and Diaconis. */
function binsFor(width: number, n: number, spread: number): number {
  if (n === 0 || spread === 0) return 1
  const wanted = Math.round((width * Math.cbrt(n)) / (2 * spread))
  return Math.max(Math.min(6, n), Math.min(48, wanted))
}

const units = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  week: 604_800,
  month: 2_629_746,
  quarter: 7_889_238,
  year: 31_556_952,
  decade: 315_569_520,
  century: 3_155_695_200,
  millennium: 31_556_952_000,
}

/** Dates by a unit of time, or by the one that makes the most bins up to a hundred. */
export async function dateHistogram(
  session: Session,
  { from, column }: DataviewRows,
  asked: string,
  { start, end, offset = 0 }: Pick<DataviewRequest, 'start' | 'end' | 'offset'>,
): Promise<JsonObject> {
  if (asked !== 'auto' && !Object.hasOwn(units, asked))
    throw errors.dataviewInvalid(
      `Invalid aggregation value. Valid ones: auto, ${Object.keys(units).join(', ')}`,
    )
  const seconds = `pg_catalog.date_part('epoch', ${column})`
  const inside = [
    `${seconds} operator(pg_catalog.<) 'Infinity' and ${seconds} operator(pg_catalog.>) '-Infinity'`,
    ...(start === undefined ? [] : [`${seconds} operator(pg_catalog.>=) ${start}`]),
    ...(end === undefined ? [] : [`${seconds} operator(pg_catalog.<=) ${end}`]),
  ].join(' and ')
  const basics = await askOne(
    session,
    `select pg_catalog.min(${seconds}) filter (where ${inside}) as least, pg_catalog.max(${seconds}) filter (where ${inside}) as most,
      pg_catalog.count(*) filter (where ${column} is null) as nulls from ${from} as t`,
  )
  const { least, most, nulls } = basics as Record<string, number | null>
  const [low, high] = [start ?? least, end ?? most]
  const empty = { offset, bin_width: 0, bins_count: 0, nulls, bins: [] }
  if (typeof low !== 'number' || typeof high !== 'number')
    return { aggregation: asked === 'auto' ? 'day' : asked, ...empty }
  const unit = asked === 'auto' ? unitFor(high - low) : (asked as keyof typeof units)
  if ((high - low) / units[unit] > mostBins)
    throw errors.dataviewInvalid(`More than ${mostBins} bins: choose a longer unit`)
  const trunc = (epoch: string) =>
    `pg_catalog.date_trunc('${unit}', pg_catalog.timezone('UTC', pg_catalog.to_timestamp(${epoch} operator(pg_catalog.+) ${offset})))`
  const step = unit === 'quarter' ? '3 months' : `1 ${unit}`
  const epochOf = (local: string) =>
    `pg_catalog.date_part('epoch', ${local}) operator(pg_catalog.-) ${offset}`
  const found = await askAll(
    session,
    `select s.at, coalesce(c.freq, 0) as freq
      from (select ${epochOf('q.at')} as at from (select pg_catalog.generate_series(${trunc(String(low))}, ${trunc(String(high))}, '${step}'::pg_catalog.interval) as at) as q) as s
      left join (select ${epochOf(trunc(seconds))} as at, pg_catalog.count(*) as freq from ${from} as t where ${inside} group by 1) as c on c.at operator(pg_catalog.=) s.at
      order by 1`,
  )
  const bins = found
    .map(({ at, freq }, bin) => ({ bin, min: at, max: at, avg: at, freq, timestamp: at }))
    .filter(({ freq }) => freq !== 0)
  const first = found[0]?.at
  return {
    aggregation: unit,
    offset,
    timestamp_start: first,
    bin_width: units[unit],
    bins_count: found.length,
    bins_start: first,
    nulls,
    bins,
  }
}

function unitFor(span: number): keyof typeof units {
  const names = Object.keys(units) as (keyof typeof units)[]
  return names.find((unit) => span / units[unit] <= 100) ?? 'millennium'
}
