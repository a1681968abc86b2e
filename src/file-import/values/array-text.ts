import { BIGINT_ARRAY, DOUBLE_ARRAY, NUMERIC_ARRAY, TEXT_ARRAY } from './type-bits.ts'

/** The types of an array of one dimension as PostgreSQL writes it: `{1,2,NULL}`, `{"a b",c}`. */
export function arrayTypes(text: string, wanted: number): number {
  if ((wanted & ARRAYS) === 0 || !array.test(text)) return 0
  if (!numbers.test(text)) return TEXT_ARRAY
  const elements = text.slice(1, -1).split(',')
  const digits = (element: string) => element.replace(/^-|\./g, '').length
  const isExact = elements.every((element) => element === 'NULL' || digits(element) <= 15)
  const isWhole = elements.every((element) => !element.includes('.') && digits(element) <= 18)
  return TEXT_ARRAY | NUMERIC_ARRAY | (isExact ? DOUBLE_ARRAY : 0) | (isWhole ? BIGINT_ARRAY : 0)
}

const ARRAYS = BIGINT_ARRAY | DOUBLE_ARRAY | NUMERIC_ARRAY | TEXT_ARRAY
const number = String.raw`(?:-?(?:0|[1-9]\d*)(?:\.\d+)?|NULL)`
const numbers = new RegExp(`^\\{(?:${number}(?:,${number})*)?\\}$`)
/** Without spaces at the ends, which PostgreSQL leaves away. */
const element = String.raw`(?:"(?:[^"\\]|\\[^])*"|[^\s{}",\\](?:[^{}",\\\r\n\t]*[^\s{}",\\])?)`
const array = new RegExp(`^\\{(?:${element}(?:,${element})*)?\\}$`)
