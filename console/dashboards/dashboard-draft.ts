import type {
  DashboardDefinition,
  DashboardDocument,
  DashboardFilter,
  DashboardPart,
  PartKind,
} from '../../src/contract/dashboards.ts'
import { filterTypes } from '../../src/contract/saved-queries.ts'
import { firstSizes, freePlace } from './layout.ts'

/** A dashboard in the editor. */
export type DashboardDraft = Readonly<{
  name: string
  title: string
  description: string
  public: boolean
  refresh_seconds: number | null
  filters: readonly DashboardFilter[]
  parts: readonly DashboardPart[]
}>

export const emptyBoard: DashboardDraft = {
  name: '',
  title: '',
  description: '',
  public: false,
  refresh_seconds: null,
  filters: [],
  parts: [],
}

/** The parts from the top left: they keep this order while they are moved. */
export function boardOf({ queries: _, created_at, updated_at, ...board }: DashboardDocument): DashboardDraft {
  return { ...board, parts: board.parts.toSorted((one, other) => one.y - other.y || one.x - other.x) }
}

export const definitionOf = ({ name: _, ...definition }: DashboardDraft): DashboardDefinition => definition

/** True also after a change that was undone by hand. */
export const isSameBoard = (one: DashboardDraft, other: DashboardDraft) =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

/** The fields in the form of a part. */
export type PartChoices = Omit<DashboardPart, 'id' | 'x' | 'y' | 'w' | 'h'>

/** The parts with one more in a free place. */
export function withPart(parts: readonly DashboardPart[], choices: PartChoices): readonly DashboardPart[] {
  const { w, h } = firstSizes[choices.as]
  return [...parts, { id: freeId(parts), ...choices, ...freePlace(parts, w, h) }]
}

function freeId(parts: readonly DashboardPart[]): string {
  let number = parts.length + 1
  while (parts.some(({ id }) => id === `part-${number}`)) number++
  return `part-${number}`
}

/** Without the choices that a part of this kind cannot have. */
export function fittingChoices({ column, chart, title, query, as }: PartChoices): PartChoices {
  return {
    ...(title && { title }),
    query,
    as,
    ...(as === 'number' && column && { column }),
    ...(as === 'chart' && chart && { chart }),
  }
}

/** The parameters of the parts' queries that have no filter yet. */
export function freeParams(
  { parts, filters }: DashboardDraft,
  queries: DashboardDocument['queries'],
): readonly string[] {
  const used = parts.flatMap(({ query }) =>
    Object.hasOwn(queries, query) ? Object.keys(queries[query]!.params) : [],
  )
  return [...new Set(used)].filter((name) => !filters.some(({ param }) => param === name)).sort()
}

/** A filter for a parameter, with the type of the first query that has it. */
export function filterFor(
  param: string,
  { parts }: DashboardDraft,
  queries: DashboardDocument['queries'],
): DashboardFilter {
  const [about] = parts.flatMap(({ query }) =>
    Object.hasOwn(queries, query) && Object.hasOwn(queries[query]!.params, param)
      ? [queries[query]!.params[param]!]
      : [],
  )
  const type = filterTypes.find((known) => known === about?.type?.replace('[]', '')) ?? 'text'
  const value = about?.default
  const isValue = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return {
    param,
    label: param,
    type,
    ...(isValue && { default: type === 'boolean' ? value : String(value) }),
  }
}

export const kindLabels: readonly (readonly [PartKind, string])[] = [
  ['table', 'Table'],
  ['number', 'Number'],
  ['chart', 'Chart'],
  ['map', 'Map'],
]

/** For an address: letters, digits and hyphens. */
export const boardNameOf = (title: string) =>
  title
    .normalize('NFD')
    .replace(/[^\w-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .toLowerCase()
    .slice(0, 60)
