import type { Session } from '../postgres/session.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { remembered } from '../remembered.ts'
import type { Column } from './rows/columns.ts'
import { builtInTypes } from './rows/pg-types.ts'
import type { Field } from './rows/row-format.ts'
import { TypeCache } from './type-cache.ts'

/** Describes the columns of answers. Types that are not built in are looked up once per database. */
export class TypeNames {
  readonly #names = new TypeCache<string>()

  /** Undefined if the name of a type must be looked up first. */
  describe(target: SessionTarget, columns: readonly Column[]): readonly Field[] | undefined {
    return builtInFields(columns) ?? fieldsOf(columns, (oid) => this.#typeOf(target, oid))
  }

  /** Queries on the caller's own session, which also sees types made in a transaction that is still open. */
  async lookUp(session: Session, columns: readonly Column[]): Promise<readonly Field[]> {
    const { target } = session
    // The caller's SQL may have made even this impossible; the rows matter more than the names of their types.
    await this.#learn(session, columns).catch(() => undefined)
    return columns.map(({ name, typeOid }) => ({
      name,
      ...(this.#typeOf(target, typeOid) ?? { type: 'string', pgtype: `unknown(${typeOid})` }),
    }))
  }

  #typeOf(target: SessionTarget, oid: number): UnnamedField | undefined {
    return builtInTypes.get(oid)?.field ?? fieldType(this.#names.get(target, oid))
  }

  async #learn(session: Session, columns: readonly Column[]): Promise<void> {
    const { rows } = await session.query<{ oid: number; typname: string }>(
      'select oid, typname from pg_catalog.pg_type where oid operator(pg_catalog.=) any($1)',
      [columns.map(({ typeOid }) => typeOid)],
    )
    for (const { oid, typname } of rows) this.#names.set(session.target, oid, typname)
  }
}

/** Null if one of the types is not built in. */
const builtInFields = remembered(
  (columns: readonly Column[]) => fieldsOf(columns, (oid) => builtInTypes.get(oid)?.field) ?? null,
)

/** Undefined if one of the types is unknown. */
function fieldsOf(
  columns: readonly Column[],
  typeOf: (oid: number) => UnnamedField | undefined,
): readonly Field[] | undefined {
  const fields: Field[] = []
  for (const { name, typeOid } of columns) {
    const type = typeOf(typeOid)
    if (!type) return undefined
    fields.push({ name, ...type })
  }
  return fields
}

type UnnamedField = Omit<Field, 'name'>

function fieldType(typeName: string | undefined): UnnamedField | undefined {
  if (typeName === undefined) return undefined
  if (typeName === 'geometry') return { type: 'geometry' }
  if (typeName === 'geography') return { type: 'geometry', pgtype: 'geography' }
  return { type: typeName.startsWith('_') ? 'string[]' : 'string', pgtype: typeName }
}
