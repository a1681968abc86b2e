import type { ValueForm } from './local-values.ts'
import type { SeenColumn, SeenValue } from './seen-column.ts'
import {
  BIGINT,
  BIGINT_ARRAY,
  BOOL,
  COMMA,
  DATE,
  DMY_DATE,
  DMY_TIME,
  DOUBLE,
  DOUBLE_ARRAY,
  GEOMETRY,
  JSON_TEXT,
  MDY_DATE,
  MDY_TIME,
  NUMERIC,
  NUMERIC_ARRAY,
  POINT,
  TEXT_ARRAY,
  TIMESTAMP,
  TIMESTAMPTZ,
  UUID,
} from './type-bits.ts'

export const columnTypes = [
  'bool',
  'bigint',
  'double precision',
  'numeric',
  'date',
  'timestamp',
  'timestamptz',
  'uuid',
  'json',
  'geometry',
  'bigint[]',
  'double precision[]',
  'numeric[]',
  'text[]',
  'text',
] as const
export type ColumnType = (typeof columnTypes)[number]

/** A type, and how its values are written if PostgreSQL does not read them so. */
export type TypeReading = Readonly<{ type: ColumnType; form?: ValueForm | undefined }>

export type EitherReading = Readonly<{ [Form in ValueForm]?: TypeReading | undefined }>

export type InferredColumn = TypeReading &
  Readonly<{
    /** Why, in one sentence for people. */
    reason: string
    /** Empty values stand in quotes: for COPY they are '' then, unless it is told to take them for NULL. */
    hasQuotedEmpty: boolean
    /** The value that made it text, where the others are something else. `nulls`: values that may stand for NULL. */
    spoilt?: (SeenValue & Readonly<{ nulls: readonly string[] }>) | undefined
    /** The values can be read in more than one form; a person may choose. */
    either?: EitherReading | undefined
  }>

/** The columns of a file: where one does not tell how its numbers and days are written, the others may. */
export function decideColumns(columns: readonly SeenColumn[], hasNullMark: boolean): InferredColumn[] {
  const file = { decimals: decimalsOf(columns), dates: datesOf(columns) }
  return columns.map((column) => inferredOf(column, file, hasNullMark))
}

type FileForms = Readonly<{ decimals: 'comma' | 'point' | undefined; dates: 'dmy' | 'mdy' | undefined }>

function inferredOf(column: SeenColumn, file: FileForms, hasNullMark: boolean): InferredColumn {
  const { types, hasQuotedEmpty } = column
  if (hasNullMark && (column.hasEmpty || hasQuotedEmpty) && types !== 0)
    return { type: 'text', reason: 'NULL is \\N here, so an empty value is text', hasQuotedEmpty }
  const decided = hasValues(column) ? decide(column, file) : undefined
  if (decided && column.suspect) return { ...spoiltBySuspect(column, decided), hasQuotedEmpty }
  if (decided) return { ...decided, hasQuotedEmpty }
  const { last } = column
  const isSpoilt = last !== undefined && last.types !== 0
  return {
    type: 'text',
    reason: reasonForText(column),
    hasQuotedEmpty,
    ...(isSpoilt && { spoilt: { value: last.value, line: last.line, nulls: [] } }),
  }
}

const hasValues = ({ types, values }: SeenColumn) => values > 0 && types !== 0

type Decided = TypeReading & Pick<InferredColumn, 'reason' | 'either'> & Readonly<{ words: string }>

function decide(column: SeenColumn, file: FileForms): Decided {
  const { types, values } = column
  const choice = choices.find(([bit]) => (types & bit) !== 0)
  if (choice) {
    const [, type, words] = choice
    return { type, words, reason: reasonOf(type, words, values) }
  }
  return numbersAlive(types) ? decideNumbers(column, file) : decideDates(column, file)
}

/** In this order: the first that fits is the one that says most. */
const choices: readonly (readonly [bit: number, type: ColumnType, words: string])[] = [
  [BOOL, 'bool', 'yes or no'],
  [BIGINT, 'bigint', 'a whole number'],
  [DOUBLE, 'double precision', 'a number'],
  [NUMERIC, 'numeric', 'a number'],
  [DATE, 'date', 'a day'],
  [TIMESTAMP, 'timestamp', 'a time'],
  [TIMESTAMPTZ, 'timestamptz', 'a time'],
  [UUID, 'uuid', 'a UUID'],
  [JSON_TEXT, 'json', 'JSON'],
  [GEOMETRY, 'geometry', 'a geometry'],
  [BIGINT_ARRAY, 'bigint[]', 'an array of whole numbers'],
  [DOUBLE_ARRAY, 'double precision[]', 'an array of numbers'],
  [NUMERIC_ARRAY, 'numeric[]', 'an array of numbers'],
  [TEXT_ARRAY, 'text[]', 'an array'],
]

const formWords: Readonly<Record<ValueForm, string>> = {
  comma: 'a number with a decimal comma',
  point: 'a number with commas between thousands',
  dmy: 'a date with the day first',
  mdy: 'a date with the month first',
}

function decideNumbers(column: SeenColumn, { decimals }: FileForms) {
  const { comma, point } = numberReadings(column.types)
  const told = toldDecimals(column) ?? decimals
  return readingOf(column, { comma, point }, told, 'may have a decimal comma, or separators of thousands')
}

function decideDates(column: SeenColumn, { dates }: FileForms) {
  const { dmy, mdy } = dateReadings(column.types)
  const told = dmy && mdy ? dates : dmy ? 'dmy' : 'mdy'
  return readingOf(column, { dmy, mdy }, told, 'may have the day first or the month first')
}

function readingOf(
  column: SeenColumn,
  readings: EitherReading,
  told: ValueForm | undefined,
  doubt: string,
): Decided {
  const found = Object.entries(readings).filter(([, reading]) => reading !== undefined)
  const either = found.length > 1 || told === undefined ? Object.fromEntries(found) : undefined
  const reading = told && readings[told]
  const words = formWords[(told ?? found[0]![0]) as ValueForm]
  if (reading) return { ...reading, words, reason: reasonOf(reading.type, words, column.values), either }
  const { value = '', line = 0 } = column.local ?? {}
  return { type: 'text', words, reason: `${quotedAt(value, line)} ${doubt}`, either }
}

function numberReadings(types: number) {
  const typeIn = (shift: number): ColumnType | undefined =>
    choices.find(([bit]) => bit & PLAIN_NUMBERS && (types & (bit << shift)) !== 0)?.[1]
  const read = (form: ValueForm, type: ColumnType | undefined): TypeReading | undefined =>
    type && { type, form }
  return { comma: read('comma', typeIn(COMMA)), point: read('point', typeIn(POINT)) }
}

function dateReadings(types: number) {
  const read = (form: ValueForm, date: number, time: number): TypeReading | undefined => {
    if (types & date) return { type: 'date', form }
    return types & time ? { type: 'timestamp', form } : undefined
  }
  return { dmy: read('dmy', DMY_DATE, DMY_TIME), mdy: read('mdy', MDY_DATE, MDY_TIME) }
}

const PLAIN_NUMBERS = BIGINT | DOUBLE | NUMERIC
const numbersAlive = (types: number) => (types & ((PLAIN_NUMBERS << COMMA) | (PLAIN_NUMBERS << POINT))) !== 0

/** What a column tells by itself. */
function toldDecimals({ types, tellsComma, tellsPoint }: SeenColumn): 'comma' | 'point' | undefined {
  const { comma, point } = numberReadings(types)
  if (comma && tellsComma) return 'comma'
  return point && tellsPoint ? 'point' : undefined
}

/** Undefined if no column tells, or if two of them differ. Plain fractions tell of a decimal point. */
function decimalsOf(columns: readonly SeenColumn[]): FileForms['decimals'] {
  return onlyOne(
    columns.filter(hasValues).map((column) => {
      const isFraction = (column.types & PLAIN_NUMBERS) !== 0 && (column.types & BIGINT) === 0
      const { comma } = numberReadings(column.types)
      return isFraction && !comma ? 'point' : toldDecimals(column)
    }),
  )
}

function datesOf(columns: readonly SeenColumn[]): FileForms['dates'] {
  return onlyOne(
    columns.filter(hasValues).map(({ types }) => {
      const { dmy, mdy } = dateReadings(types)
      if (dmy && mdy) return undefined
      return dmy ? 'dmy' : mdy && 'mdy'
    }),
  )
}

function onlyOne<T>(told: readonly (T | undefined)[]): T | undefined {
  const found = new Set(told.filter((each) => each !== undefined))
  return found.size === 1 ? [...found][0] : undefined
}

function spoiltBySuspect({ suspect, suspects }: SeenColumn, { words }: Decided) {
  const { value, line } = suspect!
  return {
    type: 'text' as const,
    reason: `${quotedAt(value, line)} is not ${words}, as the other values`,
    spoilt: { value, line, nulls: [...suspects] },
  }
}

const quotedAt = (value: string, line: number) => `“${value}” in line ${line.toLocaleString('en-US')}`

function reasonOf(type: ColumnType, words: string, values: number): string {
  const all = values === 1 ? 'The one value is' : `Each of ${values.toLocaleString('en-US')} values is`
  const but = type === 'numeric' ? ', with more digits than double precision keeps' : ''
  const zone =
    type === 'timestamptz' ? '; without a zone it is UTC' : words === 'a time' ? ' without a zone' : ''
  return `${all} ${words}${but}${zone}`
}

function reasonForText({ last, suspect, hasQuotedEmpty }: SeenColumn): string {
  if (!last && suspect) return `${quotedAt(suspect.value, suspect.line)} is text`
  if (!last) return hasQuotedEmpty ? 'There are only empty values' : 'There is no value'
  const value = quotedAt(last.value, last.line)
  if (/^-?0\d+$/.test(last.value)) return `${value} would lose its zero as a number`
  const words = wordsOf(last.types)
  return words ? `${value} is not ${words}, as the values before it` : `${value} is text`
}

function wordsOf(types: number): string | undefined {
  if (types === 0) return undefined
  const plain = choices.find(([bit]) => (types & bit) !== 0)?.[2]
  if (plain) return plain
  const { comma } = numberReadings(types)
  if (numbersAlive(types)) return formWords[comma ? 'comma' : 'point']
  return 'a date'
}
