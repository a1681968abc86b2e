import {
  type Api,
  apis,
  type DataService,
  dataServices,
  type SchemaPermission,
  type TablePermission,
} from '../contract/grants.ts'

export type TableGrant = Readonly<{ schema: string; name: string; permissions: readonly TablePermission[] }>
export type SchemaGrant = Readonly<{ name: string; permissions: readonly SchemaPermission[] }>

/** The rights of a key other than tables and schemas. */
export type Scope = Readonly<{
  apis: readonly Api[]
  services: readonly DataService[]
  /** May list the metadata of all tables. */
  hasTableMetadata: boolean
}>

/** The grants requested for a new key. */
export type WantedGrants = Scope &
  Readonly<{ tables: readonly TableGrant[]; schemas: readonly SchemaGrant[] }>

/** A role's rights according to the catalogs; it owns its own tables. */
export type EffectiveGrants = Readonly<{
  tables: readonly (TableGrant & Readonly<{ isOwner: boolean }>)[]
  schemas: readonly SchemaGrant[]
}>

export const masterScope: Scope = { apis, services: dataServices, hasTableMetadata: false }
export const defaultScope: Scope = { apis, services: [], hasTableMetadata: false }

/** The rights of a new role after these grants, as the catalogs would return them, in their order. */
export function asGranted({ tables, schemas }: WantedGrants): EffectiveGrants {
  return {
    tables: tables
      .filter(({ permissions }) => permissions.length > 0)
      .map((table) => ({ ...table, isOwner: false }))
      .sort((a, b) => byBytes(a.schema, b.schema) || byBytes(a.name, b.name)),
    schemas: schemas
      .filter(({ permissions }) => permissions.length > 0)
      .map(({ name, permissions }) => ({ name, permissions }))
      .sort((a, b) => byBytes(a.name, b.name)),
  }
}

/** A key that only reads needs no tables, not even temporary ones. */
export function writes({ tables, schemas }: WantedGrants): boolean {
  const canWrite = tables.some(({ permissions }) => permissions.some((each) => each !== 'select'))
  return canWrite || schemas.some(({ permissions }) => permissions.includes('create'))
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
