import type { RejectedRow, RejectedSection } from '../../contract/documents.ts'
import type { CopyAttempt } from '../../copy/copy-run.ts'
import { type LineNumbering, type PartCopies, PartLoader } from '../../copy/load/load-in-parts.ts'
import { PartReader } from '../../copy/load/part-reader.ts'
import { listedBytes, mostTextBytes, RejectedRows, tooMuchText } from '../../copy/load/rejected-rows.ts'
import { AppError } from '../../errors.ts'
import type { Session } from '../../postgres/session.ts'
import { sqlError } from '../../postgres/wire/wire-error.ts'
import type { WireQuery } from '../../postgres/wire/wire-query.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import { ImportFailure } from '../import-failure.ts'
import { DatabaseFault, failureOf } from './database-fault.ts'

/** The rows that are left out of an import, of all its files together. */
export class Rejects {
  readonly maxBadRows: number
  /** Every row is listed, with its whole text. */
  readonly keepsAll: boolean
  count = 0
  /** By table, in the order of the files. */
  readonly #groups = new Map<string, { section: RejectedSection; rows: RejectedRow[] }>()
  #listed = 0
  #textLength = 0

  constructor(maxBadRows: number, keepsAll: boolean) {
    this.maxBadRows = maxBadRows
    this.keepsAll = keepsAll
  }

  /** For one reading of a file, which counts once it is stored. */
  begin(encoding?: string): RejectedRows {
    return new RejectedRows({ maxBadRows: this.maxBadRows - this.count, keepsAll: this.keepsAll }, encoding)
  }

  /** The rows of each table, in the order of its file. */
  get rows(): readonly RejectedRow[] {
    return [...this.#groups.values()].flatMap(({ rows }) => rows)
  }

  get sections(): readonly RejectedSection[] {
    return [...this.#groups.values()].map(({ section, rows }) => ({ ...section, rows: rows.length }))
  }

  /** `place`: the file in an archive. */
  add(rejected: RejectedRows, place: string): void {
    this.count += rejected.count
    for (const { section, rows } of rejected.sections) this.#list(section, rows, place)
    if (this.keepsAll && this.#textLength > mostTextBytes) throw new ImportFailure(2003, tooMuchText)
  }

  #list(section: RejectedSection, rows: readonly RejectedRow[], place: string): void {
    const listed = rows.slice(0, this.keepsAll ? undefined : Math.max(0, mostListed - this.#listed))
    if (listed.length === 0) return
    const name = `${place}\0${section.table}`
    const group = this.#groups.get(name) ?? { section, rows: [] }
    this.#groups.set(name, group)
    this.#listed += listed.length
    for (const row of listed) {
      this.#textLength += listedBytes(row)
      group.rows.push({ ...row, error: `${place}${row.error}` })
    }
    group.rows.sort((one, other) => one.line - other.line)
  }
}

const mostListed = 100

/** Stores rows with COPY without those that PostgreSQL refuses. Returns how many were stored. */
export async function copyWithoutBad(
  session: Session,
  statement: string,
  dialect: CopyDialect,
  chunks: AsyncIterable<Uint8Array>,
  rejected: RejectedRows,
  numbering?: LineNumbering,
): Promise<number> {
  const reader = new PartReader(dialect, partBytes)
  let rows = 0
  const loader = new PartLoader(partCopies(session), {
    text: statement,
    dialect,
    header: () => reader.header ?? Buffer.alloc(0),
    rejected,
    name: (error) => error,
    numbering,
    onStored: (attempt) => {
      rows += attempt.rows
    },
  })
  const loadParts = async () => {
    for (let part = reader.take(); part; part = reader.take()) {
      await loader.load(part)
      reader.giveBack(part)
    }
  }
  try {
    for await (const chunk of chunks) {
      reader.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
      await loadParts()
    }
    reader.end()
    await loadParts()
    await loader.finish()
  } catch (error) {
    throw refusal(error, rejected)
  }
  if (rows === 0 && rejected.count > 0) throw nothingLeft(rejected)
  return rows
}

/** The same size as in a copyfrom. */
const partBytes = 1024 * 1024

/** How the loader of copyfrom sends its statements: here in the transaction of the import. */
function partCopies(session: Session): PartCopies {
  let wire: WireQuery
  return {
    run: {
      get wire() {
        return wire
      },
    },
    attempt: async (texts, handler): Promise<CopyAttempt> => {
      let rows = 0
      wire = session.send(texts, {
        ...handler,
        commandComplete: (tag) => {
          if (tag.startsWith('COPY ')) rows = Number(tag.slice(5))
        },
      })
      const { error } = await wire.done
      return { error, rows, numbers: [] }
    },
    refuse: (error) => {
      throw new DatabaseFault(error)
    },
    refusal: (error) => sqlError(error),
  }
}

/** The error for the client if a load without its bad rows fails. */
export function refusal(error: unknown, rejected: RejectedRows): unknown {
  if (!(error instanceof AppError)) return error
  if (error.code === 'bad-request') return new ImportFailure(2003, error.message, { cause: error })
  if (error.code !== 'database' || !rejected.isFull) return error
  const { sqlstate = '', context } = error.extras as Readonly<{ sqlstate?: string; context?: string }>
  const { code, message } = failureOf(new DatabaseFault({ sqlstate, message: error.message, context }))!
  return new ImportFailure(code, `More rows are refused than max_bad_rows allows: ${message}`, {
    cause: error,
  })
}

export function nothingLeft({ count, list }: Pick<RejectedRows, 'count' | 'list'>): ImportFailure {
  const { line, error } = list[0]!
  return new ImportFailure(2001, `None of the ${count} rows can be stored. Line ${line}: ${error}`)
}
