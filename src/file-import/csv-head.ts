import { unescaped } from './copy-text.ts'
import { CsvError, type CsvForm, type CsvRecord, CsvRecords, fieldBytes } from './csv-records.ts'
import { type Encoding, encodings } from './encodings.ts'
import { ALL_TYPES, BOOL, TEXT_ARRAY } from './values/type-bits.ts'
import { typesOf } from './values/value-types.ts'

export type CsvDialect = CsvForm &
  Readonly<{
    hasHeader: boolean
    /** As PostgreSQL calls it. */
    encoding: Encoding
    /** The text format of COPY: NULL is `\N`, tabs and line ends in a value are written `\t` and `\n`. */
    isCopyText?: boolean | undefined
    /** Values that stand for NULL. */
    nulls?: readonly string[] | undefined
  }>

/** How the text is written, as far as its beginning tells. */
export function guessDialect(head: Uint8Array): CsvDialect {
  const bytes = withoutBom(head)
  const { isCopyText, ...form } = quotesOf(bytes, guessForm(bytes))
  return {
    ...form,
    ...(isCopyText && { isCopyText }),
    hasHeader: guessHeader(bytes, form),
    encoding: isUtf8(bytes) ? 'UTF8' : 'WIN1252',
  }
}

/** The first rows, as texts; null where COPY stores NULL. A record that is cut off is not among them. */
export function readHead(
  head: Uint8Array,
  { encoding, isCopyText, ...form }: CsvDialect,
  most = 21,
): (string | null)[][] {
  const decoder = new TextDecoder(encodings[encoding])
  const textOf = (record: CsvRecord, at: number) => {
    const bytes = fieldBytes(record, at)
    if (!isCopyText) return record.starts[at] === record.ends[at] ? null : decoder.decode(bytes)
    const text = decoder.decode(unescaped(bytes))
    return text === 'N' && bytes.length === 2 ? null : text
  }
  return recordsOf(head, form, most, (record) =>
    Array.from({ length: record.count }, (_, at) => textOf(record, at)),
  )
}

/** How many bytes of a byte order mark to leave away: COPY takes it for a part of the first value. */
export const bomLength = (head: Uint8Array) =>
  head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0

const withoutBom = (head: Uint8Array) => head.subarray(bomLength(head))

/** The delimiter that divides most of the text into records of as many fields as the first, two or more; else a comma. */
function guessForm(head: Uint8Array): CsvForm {
  let best: CsvForm = { delimiter: ',', quote: '"' }
  let bestScore = 0
  for (const quote of ['"', ''] as const) {
    for (const delimiter of [',', '\t', ';', '|'] as const) {
      const score = scoreOf(head, { delimiter, quote })
      // Without quotes only where quotes make no sense of it, and no field begins with one: that is a quote without its end.
      if (score <= bestScore * (quote === '' ? 1.5 : 1)) continue
      best = { delimiter, quote }
      bestScore = score
    }
  }
  return best
}

/** Between tabs a quotation mark means itself, unless a value begins with one: `{"a":1}` would lose its quotes. */
function quotesOf(head: Uint8Array, form: CsvForm): CsvForm & { isCopyText?: boolean } {
  if (form.delimiter !== '\t') return form
  const plain = { ...form, quote: '' } as const
  const seen = recordsOf(head, plain, Number.POSITIVE_INFINITY, (record) => ({
    isQuoted: beginsWithQuote(record),
    hasNull: hasNullMark(record),
  }))
  if (seen.some(({ isQuoted }) => isQuoted)) return form
  if (seen.some(({ hasNull }) => hasNull)) return { ...plain, isCopyText: true }
  return head.includes(QUOTE) ? plain : form
}

const hasNullMark = ({ bytes, starts, ends, count }: CsvRecord) =>
  starts
    .subarray(0, count)
    .some(
      (start, at) => ends[at]! - start === 2 && bytes[start] === BACKSLASH && bytes[start + 1] === LETTER_N,
    )

const BACKSLASH = 92
const LETTER_N = 78

const beginsWithQuote = ({ bytes, starts, count }: CsvRecord) =>
  starts.subarray(0, count).some((start) => bytes[start] === QUOTE)

const QUOTE = 34

function scoreOf(head: Uint8Array, form: CsvForm): number {
  const sizes = recordsOf(head, form, mostScored, (record) => ({
    count: record.count,
    bytes: record.ends[record.count - 1]! - record.starts[0]! + 1,
    isQuoted: form.quote === '' && beginsWithQuote(record),
  }))
  if (sizes.some(({ isQuoted }) => isQuoted)) return 0
  const fields = sizes[0]?.count ?? 1
  const bytes = sizes.reduce((sum, size) => sum + (size.count === fields ? size.bytes : 0), 0)
  const all = sizes.length < mostScored ? head.length : sizes.reduce((sum, size) => sum + size.bytes, 0)
  return fields < 2 ? 0 : (bytes / all) ** 4 * Math.min(fields, 20)
}

/** Records by which a form is judged. */
const mostScored = 5_000

/** A header has names, and no number, date or the like among them; `no` and `t` are names, too. One column may have none. */
function guessHeader(head: Uint8Array, form: CsvForm): boolean {
  const [names = []] = recordsOf(head, form, 1, (record) =>
    Array.from({ length: record.count }, (_, at) => fieldBytes(record, at)),
  )
  const named = names.filter((name) => name.length > 0)
  return (
    named.length >= Math.max(1, names.length - 1) &&
    named.every((name) => typesOf(name, 0, name.length, ALL_TYPES & ~(BOOL | TEXT_ARRAY)) === 0)
  )
}

function isUtf8(head: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return true
  } catch {
    return false
  }
}

/** What `read` makes of the first records. A file shorter than its head may end without a line end. */
function recordsOf<T>(head: Uint8Array, form: CsvForm, most: number, read: (record: CsvRecord) => T): T[] {
  const found: T[] = []
  const enough = new CsvError(0, 'enough')
  const records = new CsvRecords(form, (record) => {
    if (found.length === most) throw enough
    found.push(read(record))
  })
  try {
    records.push(withoutBom(head))
    if (head.length < headBytes) records.end()
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
  }
  return found
}

/** What is read before anything else. */
export const headBytes = 256 * 1024
