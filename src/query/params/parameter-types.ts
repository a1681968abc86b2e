import type { Session } from '../../postgres/session.ts'
import type { SessionTarget } from '../../postgres/session-target.ts'
import { queryInCatalog } from '../../statements/query-in-catalog.ts'
import { TypeCache } from '../type-cache.ts'
import { type ArraySyntax, plainArray } from './bind-values.ts'

/** Thrown before the statement runs: the array syntax of these types must be looked up first. */
export class UnknownTypes extends Error {
  readonly oids: readonly number[]

  constructor(oids: readonly number[]) {
    super('Types of parameters must be looked up')
    this.oids = oids
  }
}

/** How to write arrays for parameter types. Types that are not built in are looked up once per database. */
export class ParameterTypes {
  readonly #syntaxes = new TypeCache<ArraySyntax>()

  /** For parameters that get arrays. Throws UnknownTypes. */
  syntaxes(target: SessionTarget, oids: readonly number[]): ReadonlyMap<number, ArraySyntax> {
    const known = new Map<number, ArraySyntax>()
    const unknown: number[] = []
    for (const oid of oids) {
      const syntax = this.#syntaxOf(target, oid)
      if (syntax) known.set(oid, syntax)
      else unknown.push(oid)
    }
    if (unknown.length > 0) throw new UnknownTypes(unknown)
    return known
  }

  /** `ask`: how to run a query on this session with only pg_catalog on the search path. */
  async learn(session: Session, oids: readonly number[], ask = queryInCatalog<TypeRow>): Promise<void> {
    const { rows } = await ask(session, lookUp, [oids])
    // A type that was dropped a moment ago: let PostgreSQL report it.
    for (const oid of oids) this.#syntaxes.set(session.target, oid, plainArray)
    for (const { asked, delimiter, is_array: isArray, is_json: isJson } of rows) {
      const syntax = isJson && !isArray ? 'json' : { delimiter, isOfJson: isJson }
      this.#syntaxes.set(session.target, asked, syntax)
    }
  }

  #syntaxOf(target: SessionTarget, oid: number): ArraySyntax | undefined {
    if (oid < firstOwnOid) return builtIn.get(oid) ?? plainArray
    return this.#syntaxes.get(target, oid)
  }
}

export type TypeRow = { asked: number; delimiter: string; is_array: boolean; is_json: boolean }

/** Resolves domains to their base types, and arrays to their elements. */
const lookUp = `
  with recursive step as (
    select asked, asked as type, ','::"char" as delimiter, false as is_array from unnest($1::oid[]) as asked
    union all
    select asked, case typtype when 'd' then typbasetype else typelem end,
      case typtype when 'd' then delimiter else typdelim end, is_array or typtype <> 'd'
    from step join pg_type on oid = type
    where typtype = 'd' or typcategory = 'A' and not is_array
  )
  select asked, delimiter, is_array, type in ('json'::regtype, 'jsonb'::regtype) as is_json
  from step join pg_type on oid = type
  where typtype <> 'd' and (typcategory <> 'A' or is_array)`

/** json, jsonb, their arrays, and box[]. All other built-in arrays use commas. */
const builtIn: ReadonlyMap<number, ArraySyntax> = new Map<number, ArraySyntax>([
  [114, 'json'],
  [3802, 'json'],
  [199, { ...plainArray, isOfJson: true }],
  [3807, { ...plainArray, isOfJson: true }],
  [1020, { ...plainArray, delimiter: ';' }],
])

/** PostgreSQL's built-in objects have oids below this. */
const firstOwnOid = 16_384
