import {
  chartAggregates,
  chartKinds,
  chartOrders,
  maxChartName,
  maxChartValues,
} from '../../contract/charts.ts'
import {
  dashboardNameRule,
  gridColumns,
  leastRefreshSeconds,
  maxDashboardDescription,
  maxDashboardFilters,
  maxDashboardParts,
  maxDashboardTitle,
  maxFilterOptions,
  maxGridRows,
  maxPartRows,
  mostRefreshSeconds,
  partIdRule,
  partKinds,
} from '../../contract/dashboards.ts'
import { filterTypes, queryParamTypes } from '../../contract/saved-queries.ts'
import {
  accountName,
  accountParams,
  answered,
  keySecurity,
  knownExtras,
  text,
} from '../middleware/schemas.ts'

/** Described, not enforced: the readers refuse in the words of this API. */

const tags = ['sql']

const dashboardParams = {
  type: 'object',
  properties: { ...accountName, dashboard: text(`The name of the dashboard: ${dashboardNameRule}`) },
} as const

const value = { type: ['string', 'number', 'boolean'] } as const

const filter = {
  type: 'object',
  required: ['param', 'label', 'type'],
  properties: {
    param: text('Queries that have a parameter of this name get the value, others do not'),
    label: { type: 'string', maxLength: maxDashboardTitle },
    type: { type: 'string', enum: filterTypes },
    default: value,
    options: { type: 'array', items: value, maxItems: maxFilterOptions },
  },
} as const

const whole = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum }) as const

const chartColumn = { type: 'string', minLength: 1, maxLength: maxChartName } as const

const chart = {
  type: 'object',
  required: ['kind', 'x'],
  properties: {
    kind: { type: 'string', enum: chartKinds },
    x: chartColumn,
    y: { type: 'array', items: chartColumn, maxItems: maxChartValues },
    series: chartColumn,
    aggregate: { type: 'string', enum: chartAggregates },
    order: { type: 'string', enum: chartOrders },
  },
  description: 'For a chart: how it is drawn. By default as the first columns suggest',
} as const

const partMembers = {
  id: text(partIdRule),
  title: { type: 'string', maxLength: maxDashboardTitle },
  query: text('The name of a saved query'),
  as: { type: 'string', enum: partKinds },
  column: text('Of a number: the column of the first row. Without it the first column'),
  chart,
  x: whole(0, gridColumns - 1),
  y: whole(0, maxGridRows - 1),
  w: whole(1, gridColumns),
  h: whole(1, maxPartRows),
} as const
const place = ['x', 'y', 'w', 'h'] as const

const title = { type: 'string', maxLength: maxDashboardTitle } as const
const description = { type: 'string', maxLength: maxDashboardDescription } as const
const refresh = {
  type: ['integer', 'null'],
  minimum: leastRefreshSeconds,
  maximum: mostRefreshSeconds,
  description: 'Seconds between two refreshes of the page of a dashboard. Null: only by hand',
} as const

const head = {
  name: { type: 'string' },
  title,
  description,
  public: { type: 'boolean' },
} as const
const times = {
  created_at: { type: 'string', format: 'date-time' },
  updated_at: { type: 'string', format: 'date-time' },
} as const

const queryParam = {
  type: 'object',
  required: ['type', 'required'],
  properties: {
    type: { type: 'string', enum: queryParamTypes },
    default: {},
    required: { type: 'boolean' },
  },
} as const

const document = {
  title: 'Dashboard',
  ...answered({
    ...head,
    refresh_seconds: refresh,
    filters: { type: 'array', items: filter },
    parts: {
      type: 'array',
      items: { type: 'object', required: ['id', 'query', 'as', ...place], properties: partMembers },
    },
    queries: {
      type: 'object',
      additionalProperties: answered({
        public: { type: 'boolean' },
        params: { type: 'object', additionalProperties: queryParam },
      }),
      description:
        'The saved queries of the parts, by name. A query is missing if it does not exist, or the caller may not run it',
    },
    ...times,
  }),
} as const

const tagged = { ETag: text('For `If-Match` of the next save or deletion, and `If-None-Match`') } as const

export const saveDashboardSchema = {
  tags,
  security: keySecurity,
  summary: 'Save a dashboard',
  description:
    'Creates the dashboard, or replaces the dashboard of this name. Parts name saved queries and do not overlap. Needs the master key.',
  params: dashboardParams,
  headers: {
    type: 'object',
    properties: {
      'if-match': text(
        'The ETag with which the dashboard was read: if it has changed since, the answer is 412 and nothing is saved',
      ),
      'if-none-match': text('`*`: saved only if there is no dashboard of this name'),
    },
  },
  body: {
    type: 'object',
    required: ['title'],
    properties: {
      title,
      description,
      public: { type: 'boolean', default: false, description: 'Whether callers without a key may read it' },
      refresh_seconds: refresh,
      filters: { type: 'array', items: filter, maxItems: maxDashboardFilters },
      parts: {
        type: 'array',
        items: { type: 'object', required: ['query', 'as', ...place], properties: partMembers },
        maxItems: maxDashboardParts,
      },
      ...knownExtras,
    },
    examples: [
      {
        title: 'Towns',
        filters: [{ param: 'country', label: 'Country', type: 'text', default: 'FR' }],
        parts: [{ query: 'towns', as: 'table', x: 0, y: 0, w: 12, h: 6 }],
      },
    ],
  },
  response: {
    200: { description: 'It was replaced', headers: tagged, ...document },
    201: { description: 'It was made', headers: tagged, ...document },
    412: { description: 'Somebody has changed, made or deleted it since: `dashboard-changed`' },
  },
} as const

export const listDashboardsSchema = {
  tags,
  security: keySecurity,
  summary: 'List dashboards',
  description: 'By name, without their parts. Needs the master key.',
  params: accountParams,
  response: {
    200: {
      description: 'All of the account',
      ...answered({ dashboards: { type: 'array', items: answered({ ...head, ...times }) } }),
    },
  },
} as const

export const readDashboardSchema = {
  tags,
  summary: 'Read a dashboard',
  description:
    'The master key reads every dashboard. Other keys with the SQL API, and callers without a key, read public dashboards. The rows of its parts come from the saved queries.',
  params: dashboardParams,
  response: { 200: { description: 'The dashboard', headers: tagged, ...document } },
} as const

export const deleteDashboardSchema = {
  tags,
  security: keySecurity,
  summary: 'Delete a dashboard',
  description: 'Its queries stay. Needs the master key.',
  params: dashboardParams,
  headers: {
    type: 'object',
    properties: {
      'if-match': text(
        'The ETag with which the dashboard was read: if somebody has saved another since, it is 412 and nothing is deleted',
      ),
    },
  },
  response: {
    204: { description: 'It is gone', type: 'null' },
    412: { description: 'Somebody has changed it since: `dashboard-changed`' },
  },
} as const

export const dashboardPageSchema = {
  tags,
  security: [],
  summary: 'Open the page of a dashboard',
  description:
    'For browsers, also in a frame of another site. Only for public dashboards. Errors are pages, too.',
  params: dashboardParams,
  response: {
    200: { description: 'The page', content: { 'text/html': { schema: { type: 'string' } } } },
  },
} as const
