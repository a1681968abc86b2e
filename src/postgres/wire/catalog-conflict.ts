import { sqlstate } from '../sqlstate.ts'

/**
 * When two statements create the same object at the same time, PostgreSQL reports to the second a unique violation in a
 * catalog index. Translates that into the error it would have got a moment later: the object already exists.
 */
export function explainConflict<E extends Told>(error: E, { schema, index }: Broken): E {
  if (error.sqlstate !== sqlstate.uniqueViolation || schema !== 'pg_catalog') return error
  const made = makings.get(index)
  const name = made?.name.exec(valuesIn(error.detail ?? ''))?.[1]
  if (!made || name === undefined) return { ...error, hint: error.hint ?? overtaken }
  return { ...error, sqlstate: made.sqlstate, message: made.message(name), detail: overtaken }
}

type Told = Readonly<{
  sqlstate: string
  message: string
  detail?: string | undefined
  hint?: string | undefined
}>

/** Schema and index from the error. For tables of users, these are their schema and their constraint. */
type Broken = Readonly<{ schema: string | undefined; index: string }>

type Making = Readonly<{ sqlstate: string; name: RegExp; message: (name: string) => string }>

const overtaken =
  'Another statement created or changed the same object at the same time; this one changed nothing.'

/**
 * `t, 2200` from `Key (relname, relnamespace)=(t, 2200) already exists.`, in any language. A tenant may have written
 * the text.
 */
function valuesIn(detail: string): string {
  const start = detail.indexOf('=(')
  const end = detail.lastIndexOf(')')
  return start < 0 || end - start > longestValues ? '' : detail.slice(start + 2, end)
}

/** Enough for a name and the types of 100 arguments. */
const longestValues = 2_000

const nameAndSchema = /^(.*), \d+$/s

/** By the catalog index that reports the duplicate. A table has a type of the same name, which is created first. */
const makings: ReadonlyMap<string, Making> = new Map(
  Object.entries({
    pg_class_relname_nsp_index: {
      sqlstate: sqlstate.duplicateTable,
      name: nameAndSchema,
      message: (name) => `relation "${name}" already exists`,
    },
    pg_type_typname_nsp_index: {
      sqlstate: sqlstate.duplicateTable,
      name: nameAndSchema,
      message: (name) => `relation or type "${name}" already exists`,
    },
    pg_namespace_nspname_index: {
      sqlstate: sqlstate.duplicateSchema,
      name: /^(.+)$/s,
      message: (name) => `schema "${name}" already exists`,
    },
    pg_proc_proname_args_nsp_index: {
      sqlstate: sqlstate.duplicateFunction,
      name: /^(.*), [\d ]*, \d+$/s,
      message: (name) => `function "${name}" already exists with same argument types`,
    },
  }),
)
