const named = { type: 'object', properties: { name: { type: 'string' } } } as const
const table = {
  ...named,
  properties: { ...named.properties, table: { type: 'string', description: 'Name of a table' } },
} as const

export const tablesSchema = {
  tags: ['tables'],
  summary: "List the account's tables",
  description:
    'With privacy and time of last change; `page` counts from 1. Keys see the tables they have a right to.',
  params: named,
} as const

export const tableSchema = {
  tags: ['tables'],
  summary: 'Read what is known of a table',
  params: table,
} as const

export const privacySchema = {
  tags: ['tables'],
  summary: 'Make a table public or private',
  description: 'Needs the master key. Only the member `privacy` of the body is used.',
  params: table,
} as const

export const datasetsSchema = {
  tags: ['tables'],
  summary: 'List tables, views and materialized views',
  description: 'Needs the master key or a key with `table_metadata`.',
  params: named,
} as const

export const meSchema = {
  tags: ['accounts'],
  summary: 'Who am I, and what is left of my quota',
  description: 'The credential alone says who is asking.',
} as const
