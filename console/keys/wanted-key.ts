import type { DatabaseGrant, DataServicesGrant, Grant, KeyDocument } from '../../src/contract/documents.ts'
import {
  type Api,
  type DataService,
  schemaPermissions,
  type TablePermission,
} from '../../src/contract/grants.ts'
import { quoteName } from '../api/sql.ts'

export type TableName = Readonly<{ schema: string; name: string }>
type TableChoice = TableName & Readonly<{ permissions: readonly TablePermission[] }>

/** A key as somebody is choosing it. */
export type WantedKey = Readonly<{
  name: string
  apis: readonly Api[]
  /** By their quoted names. */
  tables: ReadonlyMap<string, TableChoice>
  schemas: readonly string[]
  hasTableMetadata: boolean
  services: readonly DataService[]
}>

export const emptyKey: WantedKey = {
  name: '',
  apis: ['sql'],
  tables: new Map(),
  schemas: [],
  hasTableMetadata: false,
  services: [],
}

export const quotedTable = ({ schema, name }: TableName) => `${quoteName(schema)}.${quoteName(name)}`

export const mayBeGiven = (wanted: WantedKey, table: TableName) =>
  wanted.tables.get(quotedTable(table))?.permissions ?? []

export function toggleTable(wanted: WantedKey, table: TableName, permission: TablePermission): WantedKey {
  return withTable(wanted, table, toggle(mayBeGiven(wanted, table), permission))
}

/** Reads all of these, besides what else was chosen; or, when it does already, none of them. */
export function toggleReading(wanted: WantedKey, tables: readonly TableName[]): WantedKey {
  const isOn = readsAll(wanted, tables)
  return tables.reduce((former, table) => {
    const others = mayBeGiven(former, table).filter((each) => each !== 'select')
    return withTable(former, table, isOn ? others : ['select', ...others])
  }, wanted)
}

export const readsAll = (wanted: WantedKey, tables: readonly TableName[]) =>
  tables.length > 0 && tables.every((table) => mayBeGiven(wanted, table).includes('select'))

export const toggle = <T>(list: readonly T[], item: T): readonly T[] =>
  list.includes(item) ? list.filter((each) => each !== item) : [...list, item]

/** What is sent. */
export function grantsOf({ apis, tables, schemas, hasTableMetadata, services }: WantedKey): Grant[] {
  const database: DatabaseGrant = {
    type: 'database',
    tables: [...tables.values()].map(({ schema, name, permissions }) => ({ schema, name, permissions })),
    ...(schemas.length > 0 && { schemas: schemas.map((name) => ({ name, permissions: schemaPermissions })) }),
    ...(hasTableMetadata && { table_metadata: [] }),
  }
  const hasDatabase = tables.size > 0 || schemas.length > 0 || hasTableMetadata
  return [
    { type: 'apis', apis },
    ...(hasDatabase ? [database] : []),
    ...(services.length > 0 ? [{ type: 'dataservices', services } satisfies DataServicesGrant] : []),
  ]
}

/** The same rights under a name that is still to be chosen. */
export function keyLike({ grants }: Pick<KeyDocument, 'grants'>): WantedKey {
  const { tables = [], schemas = [], table_metadata } = databaseGrantOf(grants) ?? {}
  return {
    name: '',
    apis: grants.flatMap((grant) => (grant.type === 'apis' ? grant.apis : [])),
    tables: new Map(tables.map((table) => [quotedTable(table), table])),
    schemas: schemas.filter((schema) => schema.permissions.includes('create')).map(({ name }) => name),
    hasTableMetadata: table_metadata !== undefined,
    services: grants.flatMap((grant) => (grant.type === 'dataservices' ? grant.services : [])),
  }
}

export const databaseGrantOf = (grants: readonly Grant[]) =>
  grants.find((grant): grant is DatabaseGrant => grant.type === 'database')

function withTable(wanted: WantedKey, table: TableName, chosen: readonly TablePermission[]): WantedKey {
  const tables = new Map(wanted.tables)
  const { schema, name } = table
  if (chosen.length === 0) tables.delete(quotedTable(table))
  else tables.set(quotedTable(table), { schema, name, permissions: chosen })
  return { ...wanted, tables }
}
