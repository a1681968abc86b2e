import type { RejectedRow, RejectedSection } from '../../contract/documents.ts'
import { errors } from '../../errors.ts'
import type { WireError } from '../../postgres/wire/wire-error.ts'
import { encodingKey } from './record-scanner.ts'

export type SkipOptions = Readonly<{
  maxBadRows: number
  /** Keep every row with its whole text, not only the first ones. */
  keepsAll: boolean
}>

/** The rows that were left out of a load. */
export class RejectedRows {
  count = 0
  readonly #options: SkipOptions
  readonly #decoder: InstanceType<typeof TextDecoder>
  readonly #rows: { section: number; row: RejectedRow }[] = []
  readonly #sections: RejectedSection[] = []
  #textBytes = 0

  constructor(options: SkipOptions, encoding: string | undefined) {
    this.#options = options
    this.#decoder = decoderOf(encoding)
  }

  get isFull(): boolean {
    return this.room <= 0
  }

  /** So many more rows may be left out. */
  get room(): number {
    return this.#options.maxBadRows - this.count
  }

  /** In the order of the file. */
  get list(): readonly RejectedRow[] {
    return this.#sortedRows.map(({ row }) => row)
  }

  get #sortedRows() {
    return this.#rows.sort((one, other) => one.section - other.section || one.row.line - other.row.line)
  }

  /** The listed rows by section, in their order. */
  get sections(): readonly Readonly<{ section: RejectedSection; rows: readonly RejectedRow[] }>[] {
    const sorted = this.#sortedRows
    return this.#sections.map((section, at) => ({
      section,
      rows: sorted.filter((one) => one.section === at + 1).map(({ row }) => row),
    }))
  }

  /** The rows from now on go into this table. `form`: how their text is to be read. */
  beginSection(table: string, form: Pick<RejectedSection, 'header' | 'columns'>): void {
    this.#sections.push({ table, rows: 0, ...form })
  }

  add(line: number, bytes: Buffer, error: WireError, place = placeOf(error)): void {
    this.count += 1
    const { keepsAll } = this.#options
    if (!keepsAll && this.#rows.length === firstRows) return
    const text = this.#decoder
      .decode(keepsAll ? bytes : bytes.subarray(0, shortTextBytes))
      .replace(/\r?\n$|\r$/, '')
    const { column, value } = place
    const row = { line, column, value, error: error.message, sqlstate: error.sqlstate, text }
    this.#textBytes += listedBytes(row)
    if (keepsAll && this.#textBytes > mostTextBytes) throw errors.badRequest(tooMuchText)
    this.#rows.push({ section: this.#sections.length, row })
  }
}

/** About what a row takes in the answer. */
export const listedBytes = ({ value, error, text }: Pick<RejectedRow, 'value' | 'error' | 'text'>) =>
  Buffer.byteLength(text) + Buffer.byteLength(error) + Buffer.byteLength(value ?? '') + 100

const firstRows = 100
/** How much of the text of a row is kept, unless all of it is. */
export const shortTextBytes = 1024
/** The text of all listed rows of a load. */
export const mostTextBytes = 16 * 1024 * 1024
export const tooMuchText =
  'rejects=all lists up to 16 MB of rejected rows: repair the file, or load it without rejects=all'

/** The column and the value that an error is about: PostgreSQL names them in the error, its context or its detail. */
export function placeOf({
  context = '',
  column,
  detail = '',
}: Pick<WireError, 'context' | 'column' | 'detail'>): RejectedPlace {
  const [, named, value] =
    /^COPY .*?, line \d+, column (.*?): (?:"([\s\S]*)"|null input)$/m.exec(context) ?? []
  // The detail of a unique index or a foreign key.
  const [, keys, values] = /^Key \((.*?)\)=\(([\s\S]*)\) /.exec(detail) ?? []
  return { column: named ?? column ?? keys ?? null, value: value ?? cutValue(values) ?? null }
}

export type RejectedPlace = Pick<RejectedRow, 'column' | 'value'>

/** As PostgreSQL cuts the value in the context of a COPY. */
export function cutValue(value: string | null | undefined): string | undefined {
  if (value === null || value === undefined || Buffer.byteLength(value) <= mostValueBytes) {
    return value ?? undefined
  }
  const cut = new TextDecoder().decode(Buffer.from(value).subarray(0, mostValueBytes))
  return `${cut.replace(/\uFFFD+$/, '')}...`
}

const mostValueBytes = 100

/** The line that COPY had come to; undefined if the error is not about one. */
export function copyLineOf({ context = '' }: WireError): number | undefined {
  const found = [...context.matchAll(/^COPY .*?, line (\d+)/gm)].at(-1)
  return found ? Number(found[1]) : undefined
}

/** The same error, about a line of the file. */
export function aboutLine(error: WireError, line: number): WireError {
  return { ...error, context: error.context?.replace(/^(COPY .*?, line )\d+/gm, `$1${line}`) }
}

/** For the eye only: a row in an encoding that we do not know looks wrong, but is all there. */
function decoderOf(encoding: string | undefined): InstanceType<typeof TextDecoder> {
  const key = encodingKey(encoding)
  const label =
    labels.get(key) ??
    key.replace(/^(win|windows)(\d+)$/, 'windows-$2').replace(/^iso8859(\d+)$/, 'iso-8859-$1')
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder('latin1')
  }
}

const labels: ReadonlyMap<string, string> = new Map([
  ['utf8', 'utf-8'],
  ['unicode', 'utf-8'],
  ['sqlascii', 'latin1'],
  ['latin1', 'iso-8859-1'],
  ['latin2', 'iso-8859-2'],
  ['latin3', 'iso-8859-3'],
  ['latin4', 'iso-8859-4'],
  ['latin5', 'iso-8859-9'],
  ['latin6', 'iso-8859-10'],
  ['latin7', 'iso-8859-13'],
  ['latin8', 'iso-8859-14'],
  ['latin9', 'iso-8859-15'],
  ['latin10', 'iso-8859-16'],
  ['win', 'windows-1251'],
  ['alt', 'ibm866'],
  ['win866', 'ibm866'],
  ['koi8', 'koi8-r'],
  ['koi8r', 'koi8-r'],
  ['koi8u', 'koi8-u'],
  ['eucjp', 'euc-jp'],
  ['eucjis2004', 'euc-jp'],
  ['euckr', 'euc-kr'],
  ['uhc', 'euc-kr'],
  ['win949', 'euc-kr'],
  ['euccn', 'gb2312'],
  ['win936', 'gbk'],
  ['win950', 'big5'],
  ['win932', 'shift_jis'],
  ['sjis', 'shift_jis'],
  ['shiftjis2004', 'shift_jis'],
])
