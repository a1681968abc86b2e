import type { ExactNumber } from '../exact-json.ts'

/** SQL, alone or with the values of its parameters `$1`, `$2`, ... */
export type Statement = string | BoundStatement
export type BoundStatement = Readonly<{ text: string; params: readonly SqlValue[] }>

/** What a parameter may be. An array is a PostgreSQL array, an object is json. */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | ExactNumber
  | readonly SqlValue[]
  | { readonly [member: string]: SqlValue }

/** A statement with its values: statement`select * from t where name = ${name}`. They never become part of the text. */
export function statement(parts: TemplateStringsArray, ...values: readonly SqlValue[]): BoundStatement {
  const text = parts.reduce((before, after, place) => {
    // Next to a letter or a digit a parameter would be read as a part of that word.
    const left = /[\w$\u0080-\uffff]$/.test(before) ? ' ' : ''
    const right = /^[\w$\u0080-\uffff]/.test(after) ? ' ' : ''
    return `${before}${left}$${place}${right}${after}`
  })
  return { text, params: values }
}

/** What of a statement goes into the body of a request. */
export function bodyOf(sql: Statement): Readonly<{ q: string; params?: readonly unknown[] }> {
  if (typeof sql === 'string') return { q: sql }
  return { q: sql.text, params: sql.params.map((value, place) => jsonValue(value, `$${place + 1}`)) }
}

/** JSON has no text for some values, where PostgreSQL has one. */
export function jsonValue(value: SqlValue | undefined, place: string): unknown {
  if (value === undefined) throw new TypeError(`The parameter ${place} is undefined: null is NULL`)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Uint8Array) return `\\x${hexOf(value)}`
  return Array.isArray(value) ? value.map((element: SqlValue) => jsonValue(element, place)) : value
}

function hexOf(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Makes a function of a statement also one of a template. */
export function tagged<Options, Result>(
  run: (sql: Statement, options: Options) => Result,
  noOptions: Options,
) {
  return (first: Statement | TemplateStringsArray, ...rest: readonly unknown[]): Result =>
    isTemplate(first)
      ? run(statement(first, ...(rest as SqlValue[])), noOptions)
      : run(first, (rest[0] as Options | undefined) ?? noOptions)
}

function isTemplate(value: Statement | TemplateStringsArray): value is TemplateStringsArray {
  return Array.isArray(value) && 'raw' in value
}
