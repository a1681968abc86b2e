import type { SqlValue } from '../../../client/api/sql-statement.ts'
import { parseExact } from '../../../client/exact-json.ts'
import { numberNames } from '../../../sql-text/named-values.ts'
import type { CommandOptions } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { listOf, textOf } from '../../option-values.ts'
import type { UserCall } from '../command.ts'

export const valueOptions = {
  param: {
    type: 'string',
    short: 'p',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'the value of :NAME in the statement, as text; may be repeated',
  },
  params: {
    type: 'string',
    value: 'JSON',
    help: 'values of $1, $2, … as a JSON array, or of :name as a JSON object',
  },
} as const satisfies CommandOptions

/** Values that the person gave: by place, or by name. */
export type BoundValues = readonly SqlValue[] | ReadonlyMap<string, SqlValue>

/** Undefined if none were given. */
export function valuesOf({ values }: UserCall): BoundValues | undefined {
  const json = textOf(values, 'params')
  const given = json === undefined ? undefined : readParams(json)
  const named = listOf(values, 'param').map(readParam)
  if (named.length === 0) return given
  if (Array.isArray(given)) throw new UsageError('give -p NAME=VALUE or --params with an array, not both')
  return new Map([...((given as ReadonlyMap<string, SqlValue> | undefined) ?? []), ...named])
}

/** The statement as it is sent, with its values in order. Which names it used is added to `used`. */
export function bindValues<Place extends Readonly<{ statement: string }>>(
  place: Place,
  values: BoundValues,
  used: Set<string>,
): Place & Readonly<{ params: readonly SqlValue[] }> {
  if (!(values instanceof Map)) return { ...place, params: values as readonly SqlValue[] }
  const { text, names } = numberNames(place.statement)
  const params = names.map((name) => {
    const value = values.get(name)
    if (value === undefined) throw new UsageError(`:${name} has no value: add -p ${name}=VALUE`)
    used.add(name)
    return value
  })
  return { ...place, statement: text, params }
}

/** A name that no statement has is a mistake: the statement would run without it. */
export function refuseUnused(values: BoundValues, used: ReadonlySet<string>): void {
  if (!(values instanceof Map)) return
  const unused = [...values.keys()].filter((name) => !used.has(name))
  if (unused.length > 0) throw new UsageError(`there is no :${unused[0]} in the statement`)
}

function readParam(text: string): readonly [string, SqlValue] {
  const [, name, value] = /^([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new UsageError(`-p must be NAME=VALUE, not '${text}'`)
  return [name, value]
}

function readParams(json: string): BoundValues {
  const value = parsed(json)
  if (Array.isArray(value)) return value as readonly SqlValue[]
  if (typeof value !== 'object' || value === null)
    throw new UsageError(
      '--params must be a JSON array or object, such as \'[1, "two"]\' or \'{"town": "Lyon"}\'',
    )
  return new Map(Object.entries(value as Readonly<Record<string, SqlValue>>))
}

function parsed(json: string): unknown {
  try {
    return parseExact(json)
  } catch {
    return undefined
  }
}
