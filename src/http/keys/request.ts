import type { FastifyRequest } from 'fastify'
import type { KeyType, ReadFrom } from '../../contract/key-names.ts'
import {
  defaultKeyName,
  isKeyDescription,
  isPrintable,
  keyOrders,
  keyTypes,
  masterKeyName,
  readFroms,
} from '../../contract/key-names.ts'
import { maxKeyDescriptionLength, maxKeyNameLength } from '../../contract/limits.ts'
import { isJsonObject, unknownMember } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { faultTexts, type WantedKey } from '../../keys/create-key.ts'
import type { SchemaGrant, TableGrant, WantedGrants } from '../../keys/grants.ts'
import type { WantedKeys } from '../../keys/key.ts'
import type { WantedKeyChanges } from '../../keys/update-key.ts'
import { readPage } from '../middleware/page.ts'
import { type Parameters, textOf, zonedTime } from '../middleware/parameters.ts'
import { knownExtras } from '../middleware/schemas.ts'
import { grantShapes, newKeyShape } from './shapes.ts'
import { faultOf } from './validate-key-body.ts'

/** Reads the body of a creation; throws one error with everything that is wrong. */
export function readNewKey(body: unknown): { name: string; grants: WantedGrants } {
  const wanted = isJsonObject(body) ? body : {}
  const unknown = faultOf(newKeyShape, wanted, '#/')
  const faults = [
    ...(unknown ? [unknown] : []),
    ...faultsOfName(wanted.name),
    ...faultsOfGrants(wanted.grants),
  ]
  if (faults.length > 0) throw errors.keyInvalid(faults)
  return { name: wanted.name as string, grants: readGrants(wanted.grants as readonly GrantSection[]) }
}

/** The same for a key with description and expiry. */
export function readFullKey(body: unknown): Omit<WantedKey, 'defaultQuota'> {
  const {
    description,
    expires_at,
    read_from,
    last_used_at: _used,
    invited_until: _invited,
    ...wanted
  } = isJsonObject(body) ? body : {}
  return { ...readNewKey(wanted), ...readColumns({ description, expires_at, read_from }) }
}

export function readKeyChanges(body: unknown): WantedKeyChanges {
  const changes = isJsonObject(body) ? body : {}
  const unknown = unknownMember(changes, changeable)
  if (unknown !== undefined)
    throw errors.keyInvalid([`${unknown} cannot be changed; known: ${given.join(', ')}`])
  const { grants } = changes
  if (given.every((name) => changes[name] === undefined)) throw errors.keyInvalid([nothingGiven])
  if (grants === undefined) return readColumns(changes)
  const faults = faultsOfGrants(grants)
  if (faults.length > 0) throw errors.keyInvalid(faults)
  return { ...readColumns(changes), grants: readGrants(grants as readonly GrantSection[]) }
}

const given = ['grants', 'description', 'expires_at', 'read_from']
const changeable = [...given, ...Object.keys(knownExtras)]
const nothingGiven = 'Give at least one of grants, description, expires_at and read_from'

function readColumns({ description, expires_at, read_from }: Parameters): Omit<WantedKeyChanges, 'grants'> {
  const faults = [
    ...(description === undefined || isKeyDescription(description) ? [] : [badDescription]),
    ...(expires_at === undefined || expires_at === null || zonedTime(expires_at) ? [] : [badTime]),
    ...(read_from === undefined || readFroms.some((known) => known === read_from) ? [] : [badReadFrom]),
  ]
  if (faults.length > 0) throw errors.keyInvalid(faults)
  const expiresAt = expires_at === null ? null : zonedTime(expires_at)
  return {
    description: description as string | undefined,
    expiresAt,
    readFrom: read_from as ReadFrom | undefined,
  }
}

const badDescription = `description must be a text of at most ${maxKeyDescriptionLength} characters`
const badReadFrom = `read_from must be ${readFroms.join(' or ')}`
const badTime = 'expires_at must be a time with its zone, such as 2026-01-31T10:00:00Z, or null for never'

function faultsOfName(name: unknown): string[] {
  if (name === undefined || name === null) return ["Name can't be blank"]
  if (typeof name !== 'string') return ['Name has to be a string']
  if (name.trim() === '') return ["Name can't be blank"]
  if (name === masterKeyName || name === defaultKeyName) {
    return [`Name api_key name cannot be ${masterKeyName} nor ${defaultKeyName}`]
  }
  return [
    ...([...name].length > maxKeyNameLength
      ? [`Name is too long (maximum is ${maxKeyNameLength} characters)`]
      : []),
    ...(isPrintable(name) ? [] : ['Name can only contain printable characters']),
  ]
}

type SectionType = keyof typeof grantShapes
const sectionTypes = Object.keys(grantShapes) as SectionType[]

function faultsOfGrants(grants: unknown): string[] {
  if (!Array.isArray(grants)) return ['Grants grants has to be an array']
  const ofShape = grants
    .slice(0, maxSections)
    .map(faultOfSection)
    .filter((fault) => fault !== undefined)
  const ofNumber = sectionTypes.filter((type) => {
    // With more sections than this, one has a wrong shape or a repeated type.
    const count = grants
      .slice(0, maxSections)
      .filter((section) => isJsonObject(section) && section.type === type).length
    return count > 1 || (type === 'apis' && count === 0)
  })
  const faults = [...ofShape, ...ofNumber.map((type) => `only one ${type} section is allowed`)]
  if (faults.length > 0) return faults.map((fault) => `Grants ${fault}`)
  return faultsOfNames(readGrants(grants as readonly GrantSection[]))
}

/** Three can be valid; faults are reported only up to this number. */
const maxSections = 10

function faultOfSection(section: unknown, index: number): string | undefined {
  const path = `#/${index}`
  if (!isJsonObject(section)) return faultOf(anySection, section, path)
  const type = sectionTypes.find((known) => known === section.type)
  return faultOf(type === undefined ? anySection : grantShapes[type], section, path)
}

/** A section of unknown type: at least its type is wrong. */
const anySection = {
  type: 'object',
  required: ['type'],
  additionalProperties: false,
  properties: {
    type: { type: 'string', enum: sectionTypes },
    ...Object.fromEntries(
      Object.values(grantShapes).flatMap(({ properties }) =>
        Object.keys(properties)
          .slice(1)
          .map((name) => [name, { description: '' }]),
      ),
    ),
  },
} as const

/** Names that PostgreSQL cannot have are not tables of the user. */
function faultsOfNames({ tables, schemas }: WantedGrants): string[] {
  return [
    ...(tables.some(({ schema, name }) => isImpossible(schema) || isImpossible(name))
      ? [faultTexts.tables]
      : []),
    ...(schemas.some(({ name }) => isImpossible(name)) ? [faultTexts.schemas] : []),
  ]
}

const isImpossible = (name: string) => /\0|\p{Cs}/u.test(name)

/** A section that fits its shape. */
type GrantSection = Readonly<{
  type: SectionType
  apis?: WantedGrants['apis']
  tables?: readonly TableGrant[]
  schemas?: readonly SchemaGrant[]
  table_metadata?: readonly unknown[]
  services?: WantedGrants['services']
}>

function readGrants(sections: readonly GrantSection[]): WantedGrants {
  const section = (type: SectionType) => sections.find((each) => each.type === type)
  const database = section('database')
  return {
    apis: unique(section('apis')?.apis ?? []),
    services: unique(section('dataservices')?.services ?? []),
    hasTableMetadata: database?.table_metadata !== undefined,
    tables: mergeByName(database?.tables ?? [], ({ schema, name }) => JSON.stringify([schema, name])).map(
      ({ schema, name, permissions }) => ({ schema, name, permissions }),
    ),
    schemas: mergeByName(database?.schemas ?? [], ({ name }) => name),
  }
}

/** A table given twice is granted once, with the permissions of both. */
function mergeByName<T extends Readonly<{ permissions: readonly string[] }>>(
  all: readonly T[],
  nameOf: (grant: T) => string,
): T[] {
  const merged = new Map<string, T>()
  for (const grant of all) {
    const before = merged.get(nameOf(grant))?.permissions ?? []
    merged.set(nameOf(grant), { ...grant, permissions: unique([...before, ...grant.permissions]) })
  }
  return [...merged.values()]
}

/** Reads the parameters of a list; throws an error about the first bad one. */
export function readListing(query: Parameters): WantedKeys {
  const page = readPage(query, { orders: keyOrders, order: 'updated_at', direction: 'asc' })
  return { ...page, types: keyTypesOf(query) }
}

function keyTypesOf(query: Parameters): readonly KeyType[] {
  const wanted = textOf(query, 'type')?.split(',')
  if (wanted === undefined) return keyTypes
  const unknown = wanted.some((type) => !keyTypes.some((known) => known === type))
  if (unknown) throw errors.badRequest(`Invalid type: it must be a comma list of ${keyTypes.join(', ')}`)
  return keyTypes.filter((type) => wanted.includes(type))
}

/** The name of the key in the path. */
export function readKeyName({ params }: FastifyRequest): string {
  return (params as { key: string }).key
}

const unique = <T>(items: readonly T[]): T[] => [...new Set(items)]
