import type { ChartDefinition } from './charts.ts'
import type { FilterType, QueryParams } from './saved-queries.ts'

/** Saved queries on a grid. */

export const dashboardNameRule =
  '1 to 128 letters, digits, dots, hyphens or underscores, and begin with a letter, a digit or an underscore'
export const isDashboardName = (text: string) => /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/.test(text)

/** Dashboards of one user. */
export const maxDashboards = 100
export const maxDashboardParts = 40
export const maxDashboardFilters = 20
/** The size of the stored document. */
export const maxDashboardBytes = 256 * 1024
export const maxDashboardTitle = 200
export const maxDashboardDescription = 4_000
export const maxFilterOptions = 200
/** Characters of a value of a filter. */
export const maxFilterValue = 1_000

export const partIdRule = '1 to 40 letters, digits, hyphens or underscores'
export const isPartId = (text: string) => /^[A-Za-z0-9_-]{1,40}$/.test(text)

/** The grid: its columns, the rows that it may have, and those of one part. */
export const gridColumns = 12
export const maxGridRows = 2_000
export const maxPartRows = 40

/** Seconds between two refreshes. */
export const leastRefreshSeconds = 10
export const mostRefreshSeconds = 86_400

export const partKinds = ['table', 'number', 'chart', 'map'] as const
export type PartKind = (typeof partKinds)[number]

export type FilterValue = string | number | boolean

/** A field above the parts. Its value is sent to each query that has a parameter of this name. */
export type DashboardFilter = Readonly<{
  param: string
  label: string
  type: FilterType
  default?: FilterValue
  /** The values that can be chosen; without them any can be typed. */
  options?: readonly FilterValue[]
}>

/** Where a part is on the grid, and how large, in columns and rows. */
export type PartPlace = Readonly<{ x: number; y: number; w: number; h: number }>

export type DashboardPart = PartPlace &
  Readonly<{
    id: string
    title?: string
    /** The name of a saved query. */
    query: string
    as: PartKind
    /** For a number: the column that it shows, of the first row. By default the first column. */
    column?: string
    /** For a chart: how it is drawn. By default as the first columns suggest. */
    chart?: ChartDefinition
  }>

/** What a client sends to save a dashboard. */
export type DashboardDefinition = Readonly<{
  title: string
  description?: string | undefined
  /** Whether callers without a key may read it. */
  public?: boolean | undefined
  /** Null: only by hand. */
  refresh_seconds?: number | null | undefined
  filters?: readonly DashboardFilter[] | undefined
  parts?: readonly (Omit<DashboardPart, 'id'> & Readonly<{ id?: string | undefined }>)[] | undefined
}>

/** A query of a part that the caller may try to run. */
export type DashboardQuery = Readonly<{ public: boolean; params: QueryParams }>

export type DashboardDocument = Readonly<{
  name: string
  title: string
  description: string
  public: boolean
  refresh_seconds: number | null
  filters: readonly DashboardFilter[]
  parts: readonly DashboardPart[]
  /** By name. One that is missing does not exist, or the caller may not run it. */
  queries: Readonly<Record<string, DashboardQuery>>
  created_at: string
  updated_at: string
}>

export type DashboardSummary = Pick<
  DashboardDocument,
  'name' | 'title' | 'description' | 'public' | 'created_at' | 'updated_at'
>

export type DashboardList = Readonly<{ dashboards: readonly DashboardSummary[] }>
