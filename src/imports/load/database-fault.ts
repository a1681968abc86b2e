import { PgDumpError } from '../../convert/pgdump/read-pgdump.ts'
import { AppError } from '../../errors.ts'
import { isConnectionLoss, sqlstate } from '../../postgres/sqlstate.ts'
import type { WireError } from '../../postgres/wire/wire-error.ts'
import { type ImportErrorCode, ImportFailure } from '../import-failure.ts'

/** An error of PostgreSQL in the transaction of an import. */
export class DatabaseFault extends Error {
  readonly sqlstate: string
  readonly context: string
  readonly error: DatabaseError
  /** Where in the file it is, if more is known than the file in the archive. */
  place: string | undefined

  constructor(error: DatabaseError) {
    super(error.message)
    this.name = 'DatabaseFault'
    this.sqlstate = error.sqlstate
    this.context = error.context ?? ''
    this.error = error
  }

  /** For a COPY: the line, and the column whose value PostgreSQL refuses. */
  get line(): number | undefined {
    const found = /, line (\d+)/.exec(this.context)?.[1]
    return found === undefined ? undefined : Number(found)
  }

  get column(): string | undefined {
    return /, line \d+, column ([a-z0-9_]+)/.exec(this.context)?.[1]
  }
}

/** `constraint`: the name of the one that was violated. */
export type DatabaseError = Pick<WireError, 'sqlstate' | 'message' | 'context' | 'column' | 'detail'> &
  Readonly<{ constraint?: string | undefined }>

/** The failure that an error means for the client; undefined: it is not the import's fault. */
export function failureOf(error: unknown, place = ''): ImportFailure | undefined {
  if (error instanceof ImportFailure) return error
  if (error instanceof PgDumpError)
    return new ImportFailure(2001, `${place}The converter's output cannot be read: ${error.message}`)
  if (error instanceof AppError)
    return error.code === 'quota-exceeded' ? new ImportFailure(8001, error.message) : undefined
  if (!(error instanceof DatabaseFault) || isConnectionLoss({ code: error.sqlstate })) return undefined
  const line =
    error.line === undefined
      ? ''
      : ` (line ${error.line}${error.column === undefined ? '' : `, column ${error.column}`})`
  // The rows of the table that is loaded have no index: only its columns can be too many for a page.
  const code = error.sqlstate === programLimit && error.line !== undefined ? 2004 : codeOf(error.sqlstate)
  return new ImportFailure(code, `${error.place ?? place}${withoutStage(error.message)}${line}`, {
    cause: error,
  })
}

/** program_limit_exceeded */
const programLimit = '54000'

function codeOf(state: string): ImportErrorCode {
  if (state === sqlstate.quotaExceeded) return 8001
  return codes[state] ?? 2001
}

const codes: Readonly<Record<string, ImportErrorCode>> = {
  // bad_copy_file_format
  '22P04': 2003,
  // character_not_in_repertoire, untranslatable_character
  '22021': 2006,
  '22P05': 2006,
  // too_many_columns
  '54011': 2004,
  // statement_timeout
  '57014': 6667,
}

/** The table has another name while it is loaded. */
const withoutStage = (message: string) => message.replace(/"?import_[0-9a-f]{12}_\d+"?/g, 'the table')
