import { sqlstate } from '../sqlstate.ts'

/**
 * Two statements that make the same thing at the same moment: PostgreSQL tells the second one of an index of its catalogs, as
 * it had found nothing of that name when it looked. Here it is told what it would have been told a moment later.
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

/** What the error names: of our own tables it would be their schema and their constraint. */
type Broken = Readonly<{ schema: string | undefined; index: string }>

type Making = Readonly<{ sqlstate: string; name: RegExp; message: (name: string) => string }>

const overtaken =
  'Another statement has made or changed the same thing at the same moment; nothing of this one was done.'

/** `t, 2200` of `Key (relname, relnamespace)=(t, 2200) already exists.`, in whichever language. A tenant may have written it. */
function valuesIn(detail: string): string {
  const start = detail.indexOf('=(')
  const end = detail.lastIndexOf(')')
  return start < 0 || end - start > longestValues ? '' : detail.slice(start + 2, end)
}

/** A name, and the types of 100 arguments. */
const longestValues = 2_000

const nameAndSchema = /^(.*), \d+$/s

/** By the index in which two of one name collide. Tables have a type of their name, which is made first. */
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
