import { type ChartDefinition, chartProblem } from '../contract/charts.ts'
import {
  type DashboardPart,
  gridColumns,
  isPartId,
  maxDashboardTitle,
  maxGridRows,
  maxPartRows,
  type PartPlace,
  partIdRule,
  partKinds,
} from '../contract/dashboards.ts'
import { isQueryName } from '../contract/saved-queries.ts'
import type { JsonObject } from '../contract/text/json-object.ts'
import { choiceAt, invalid, membersAt, refuseUnknown, textAt, wholeAt } from './read-members.ts'

export type NewPart = Omit<DashboardPart, 'id'> & Readonly<{ id: string | undefined }>

export function readPart(value: unknown, at: number): NewPart {
  const place = `parts[${at}]`
  const given = membersAt(value, place)
  refuseUnknown(given, ['id', 'title', 'query', 'as', 'column', 'chart', 'x', 'y', 'w', 'h'], place)
  const { id, title, query, column, chart } = given
  if (id !== undefined && !(typeof id === 'string' && isPartId(id)))
    throw invalid(`${place}.id must have ${partIdRule}`)
  if (typeof query !== 'string' || !isQueryName(query))
    throw invalid(`${place}.query must be the name of a saved query`)
  const as = choiceAt(given.as, `${place}.as`, partKinds)
  if (column !== undefined && as !== 'number')
    throw invalid(`${place}.column is for a part as number, not as ${as}`)
  if (chart !== undefined && as !== 'chart')
    throw invalid(`${place}.chart is for a part as chart, not as ${as}`)
  return {
    id,
    ...(title !== undefined && { title: textAt(title, `${place}.title`, maxDashboardTitle) }),
    query,
    as,
    ...(column !== undefined && { column: textAt(column, `${place}.column`, mostColumn) }),
    ...(chart !== undefined && { chart: readChart(chart, place) }),
    ...readPlace(given, place),
  }
}

function readPlace({ x, y, w, h }: JsonObject, place: string): PartPlace {
  const read = {
    x: wholeAt(x, `${place}.x`, 0, gridColumns - 1),
    y: wholeAt(y, `${place}.y`, 0, maxGridRows - 1),
    w: wholeAt(w, `${place}.w`, 1, gridColumns),
    h: wholeAt(h, `${place}.h`, 1, maxPartRows),
  }
  if (read.x + read.w > gridColumns)
    throw invalid(`${place} ends beyond the grid: x and w together are at most ${gridColumns}`)
  return read
}

function readChart(value: unknown, place: string): ChartDefinition {
  const problem = chartProblem(value)
  if (problem !== undefined) throw invalid(`${place}: ${problem}`)
  return value as ChartDefinition
}

export function refuseOverlaps(parts: readonly PartPlace[]): void {
  for (const [at, part] of parts.entries()) {
    const other = parts.findIndex((one, before) => before < at && isOver(one, part))
    if (other >= 0) throw invalid(`parts[${at}] lies over parts[${other}]`)
  }
}

const isOver = (one: PartPlace, other: PartPlace) =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h

/** Characters of a name of PostgreSQL. */
const mostColumn = 63
