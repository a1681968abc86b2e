import {
  type DashboardFilter,
  type DashboardPart,
  leastRefreshSeconds,
  maxDashboardBytes,
  maxDashboardDescription,
  maxDashboardFilters,
  maxDashboardParts,
  maxDashboardTitle,
  mostRefreshSeconds,
} from '../contract/dashboards.ts'
import type { JsonObject } from '../contract/text/json-object.ts'
import { readFilter } from './read-filter.ts'
import { invalid, listOf, membersAt, refuseUnknown, textAt, wholeAt } from './read-members.ts'
import { type NewPart, readPart, refuseOverlaps } from './read-part.ts'

/** A dashboard without its name. */
export type Dashboard = Readonly<{
  title: string
  description: string
  isPublic: boolean
  content: DashboardContent
}>
export type DashboardContent = Readonly<{
  refresh_seconds: number | null
  filters: readonly DashboardFilter[]
  parts: readonly DashboardPart[]
}>

/** Throws on the first mistake, and names its place. */
export function readDashboard(body: unknown): Dashboard {
  const given = membersAt(body, 'The body')
  refuseUnknown(given, known, 'A dashboard')
  const title = textAt(given.title, 'title', maxDashboardTitle)
  if (title.trim() === '') throw invalid('title must not be empty')
  const { description = '', public: isPublic = false } = given
  if (typeof isPublic !== 'boolean') throw invalid('public must be true or false')
  const dashboard = {
    title,
    description: textAt(description, 'description', maxDashboardDescription),
    isPublic,
    content: {
      refresh_seconds: readRefresh(given),
      filters: readFilters(given.filters),
      parts: readParts(given.parts),
    },
  }
  if (Buffer.byteLength(JSON.stringify(dashboard)) > maxDashboardBytes)
    throw invalid(`A dashboard has at most ${maxDashboardBytes / 1024} KB`)
  return dashboard
}

/** So that a document that was read can be sent again, and what old clients add. */
const ignored = ['name', 'queries', 'created_at', 'updated_at', 'api_key', 'client']
const known = ['title', 'description', 'public', 'refresh_seconds', 'filters', 'parts', ...ignored]

function readRefresh({ refresh_seconds: seconds = null }: JsonObject): number | null {
  if (seconds === null) return null
  return wholeAt(seconds, 'refresh_seconds', leastRefreshSeconds, mostRefreshSeconds)
}

function readFilters(given: unknown): readonly DashboardFilter[] {
  const filters = listOf(given, 'filters', maxDashboardFilters).map(readFilter)
  const twice = filters.findIndex(({ param }, at) => filters.findIndex((one) => one.param === param) < at)
  if (twice >= 0) throw invalid(`filters[${twice}].param is that of another filter`)
  return filters
}

function readParts(given: unknown): readonly DashboardPart[] {
  const parts = withIds(listOf(given, 'parts', maxDashboardParts).map(readPart))
  refuseOverlaps(parts)
  return parts
}

function withIds(parts: readonly NewPart[]): readonly DashboardPart[] {
  const taken = new Set<string>()
  for (const [at, { id }] of parts.entries()) {
    if (id !== undefined && taken.has(id)) throw invalid(`parts[${at}].id is that of another part`)
    if (id !== undefined) taken.add(id)
  }
  return parts.map(({ id, ...part }) => ({ id: id ?? freeId(taken), ...part }))
}

function freeId(taken: Set<string>): string {
  let number = 1
  while (taken.has(`part-${number}`)) number += 1
  taken.add(`part-${number}`)
  return `part-${number}`
}
