import type { RejectedRow, RejectedSection } from '../../contract/documents.ts'
import type { Attempt } from '../../copy/copy-run.ts'
import { type PartCopies, PartLoader } from '../../copy/load/load-in-parts.ts'
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
  readonly rows: RejectedRow[] = []
  readonly sections: RejectedSection[] = []
  #textLength = 0

  constructor(maxBadRows: number, keepsAll: boolean) {
    this.maxBadRows = maxBadRows
    this.keepsAll = keepsAll
  }

  /** For one reading of a file, which counts once it is stored. */
  begin(encoding?: string): RejectedRows {
    return new RejectedRows({ maxBadRows: this.maxBadRows - this.count, keepsAll: this.keepsAll }, encoding)
  }

  /** `place`: the file in an archive. */
  add(rejected: RejectedRows, place: string): void {
    this.count += rejected.count
    const room = this.keepsAll ? Number.POSITIVE_INFINITY : mostListed - this.rows.length
    for (const row of rejected.list.slice(0, room)) {
      this.#textLength += listedBytes(row)
      this.rows.push({ ...row, error: `${place}${row.error}` })
    }
    if (!this.keepsAll) return
    this.sections.push(...rejected.sections.filter(({ rows }) => rows > 0))
    if (this.#textLength > mostTextBytes) throw new ImportFailure(2003, tooMuchText)
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
): Promise<number> {
  const reader = new PartReader(dialect, partBytes)
  let rows = 0
  const loader = new PartLoader(partCopies(session), {
    text: statement,
    dialect,
    header: () => reader.header ?? Buffer.alloc(0),
    rejected,
    name: (error) => error,
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

/** As in a copyfrom. */
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
    attempt: async (texts, handler): Promise<Attempt> => {
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

function refusal(error: unknown, rejected: RejectedRows): unknown {
  if (!(error instanceof AppError)) return error
  if (error.code === 'bad-request') return new ImportFailure(2003, error.message, { cause: error })
  if (error.code !== 'database' || !rejected.isFull) return error
  const { sqlstate = '', context } = error.extras as Readonly<{ sqlstate?: string; context?: string }>
  const { code, message } = failureOf(new DatabaseFault({ sqlstate, message: error.message, context }))!
  return new ImportFailure(code, `More rows are refused than max_bad_rows allows: ${message}`, {
    cause: error,
  })
}

function nothingLeft({ count, list }: RejectedRows): ImportFailure {
  const { line, error } = list[0]!
  return new ImportFailure(2001, `None of the ${count} rows can be stored. Line ${line}: ${error}`)
}
