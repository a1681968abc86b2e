import type { DatabaseGrant, DataServicesGrant, Grant, KeyDocument } from '../../src/contract/documents.ts'
import {
  type Api,
  type DataService,
  schemaPermissions,
  type TablePermission,
} from '../../src/contract/grants.ts'
import { quotedTable, type TableId } from '../api/tables.ts'
import { databaseGrantOf } from '../parts/key-summary.tsx'

type TableChoice = TableId & Readonly<{ permissions: readonly TablePermission[] }>

/** A key in the form. */
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

export const mayBeGiven = (wanted: WantedKey, table: TableId) =>
  wanted.tables.get(quotedTable(table))?.permissions ?? []

export function toggleTable(wanted: WantedKey, table: TableId, permission: TablePermission): WantedKey {
  return withTable(wanted, table, toggle(mayBeGiven(wanted, table), permission))
}

/** Grants reading all these tables, or revokes it if all are granted already. */
export function toggleReading(wanted: WantedKey, tables: readonly TableId[]): WantedKey {
  const isOn = readsAll(wanted, tables)
  return tables.reduce((former, table) => {
    const others = mayBeGiven(former, table).filter((each) => each !== 'select')
    return withTable(former, table, isOn ? others : ['select', ...others])
  }, wanted)
}

export const readsAll = (wanted: WantedKey, tables: readonly TableId[]) =>
  tables.length > 0 && tables.every((table) => mayBeGiven(wanted, table).includes('select'))

export const toggle = <T>(list: readonly T[], item: T): readonly T[] =>
  list.includes(item) ? list.filter((each) => each !== item) : [...list, item]

/** The grants of the request. */
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

/** The rights of an existing key, without its name. */
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

function withTable(wanted: WantedKey, table: TableId, chosen: readonly TablePermission[]): WantedKey {
  const tables = new Map(wanted.tables)
  const { schema, name } = table
  if (chosen.length === 0) tables.delete(quotedTable(table))
  else tables.set(quotedTable(table), { schema, name, permissions: chosen })
  return { ...wanted, tables }
}
