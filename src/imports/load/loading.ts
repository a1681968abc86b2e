import type { Account } from '../../auth/account.ts'
import type { ImportWarnings, RejectedSection } from '../../contract/documents.ts'
import type { ConverterState } from '../../convert/converter.ts'
import type { Points } from '../../file-import/import-plan.ts'
import type { Session } from '../../postgres/session.ts'
import { shownName } from '../files/unpack-zip.ts'
import type { InputFile } from '../files/upload-files.ts'
import { ImportFailure } from '../import-failure.ts'
import type { ImportPhase, ImportProgress, ImportSettings, MergedRows } from '../import-record.ts'
import type { Rejects } from './rejects.ts'

/** What loading needs. The session is in the one transaction of the import, as the role of its key. */
export type Loading = Readonly<{
  session: Session
  account: Account
  importId: string
  options: ImportSettings
  converter: ConverterState
  /** Throws when the quota is used up. */
  spend: (bytes: number) => void
  meter: ProgressMeter
  warnings: Warnings
  /** Undefined: no row may be left out. */
  rejects: Rejects | undefined
  stages: Stage[]
  /** Rows of the import; 0: no limit. */
  maxRows: number
  maxTables: number
  signal: AbortSignal
}>

export type StageColumn = Readonly<{ name: string; type: string }>

/** A table that is being loaded, under a temporary name. */
export type Stage = {
  readonly name: string
  /** The name that the file or table_name gives. */
  readonly wanted: string
  /** By which its rows can be chosen from the file. */
  readonly layer?: string | undefined
  /** Its file in the archive, for a sentence. */
  place?: string
  readonly columns: readonly StageColumn[]
  /** The source of the_geom. `raw`: read in `srid`, or in the SRID of each value. `points`: the columns that it is made from. */
  geometry:
    | Readonly<{ isRaw: false; points?: Points | undefined }>
    | Readonly<{ isRaw: true; srid: number }>
    | undefined
  /** Its web mercator column is computed by PostgreSQL while rows are stored. */
  readonly isGenerated: boolean
  /** The column with the line of each row in the file, if bad rows may be left out while the rows are merged into another table. */
  readonly line?: string | undefined
  /** Reads rows of the file once more, as they stood there. */
  readText?: ((lines: ReadonlySet<number>) => Promise<ReadonlyMap<number, Buffer>>) | undefined
  /** How the file was to be read. `srid`: undefined if it has none; 0: it has no number. */
  origin?: Readonly<{ encoding: string | null; srid: number | undefined }>
  /** What describes its rejected rows. */
  section?: Readonly<{ place: string; encoding: string | undefined }> &
    Pick<RejectedSection, 'header' | 'columns'>
  rows: number
  /** For `overwrite`: columns with a default that the file lacks. They become NULL. */
  nulls?: readonly string[]
  /** For a table that is there: columns of it that the file has not, but the stage. */
  computed?: readonly string[]
  /** For `upsert`. */
  merged?: MergedRows
}

/** Counts what was done; never goes back. `told`: what an earlier attempt at the import has told. */
export class ProgressMeter {
  phase: ImportPhase = 'unpacking'
  #told: ImportProgress | null
  #bytesRead = 0
  bytesTotal = 0
  #rows = 0
  tablesDone = 0
  tablesTotal = 0

  constructor(told: ImportProgress | null) {
    this.#told = told
  }

  readTo(bytes: number): void {
    this.#bytesRead = Math.max(this.#bytesRead, Math.min(bytes, this.bytesTotal))
  }

  rowsTo(rows: number): void {
    this.#rows = Math.max(this.#rows, rows)
  }

  /** Everything is read, and so many rows are stored. */
  finish(rows: number): void {
    this.#told = null
    this.#bytesRead = this.bytesTotal
    this.#rows = rows
  }

  /** In this attempt. */
  get bytesRead(): number {
    return this.#bytesRead
  }

  /** In this attempt. */
  get rows(): number {
    return this.#rows
  }

  /** For the document: what was told stays until this attempt has come as far, unless it reads another file. */
  get progress(): ImportProgress {
    const now = this.#progressNow
    if (!this.#told) return now
    if (this.#told.bytes_total === now.bytes_total) return furthest(this.#told, now)
    // How much there is to read is not known yet.
    return now.bytes_total === 0 ? this.#told : now
  }

  get #progressNow(): ImportProgress {
    return {
      bytes_read: this.#bytesRead,
      bytes_total: this.bytesTotal,
      rows: this.#rows,
      tables_done: this.tablesDone,
      tables_total: this.tablesTotal,
    }
  }
}

const furthest = (one: ImportProgress, other: ImportProgress): ImportProgress => ({
  bytes_read: Math.max(one.bytes_read, other.bytes_read),
  bytes_total: one.bytes_total,
  rows: Math.max(one.rows, other.rows),
  tables_done: Math.max(one.tables_done, other.tables_done),
  tables_total: Math.max(one.tables_total, other.tables_total),
})

export class Warnings {
  readonly #lists = new Map<ListName, string[]>()
  encoding: string | undefined
  sridAssumed: number | undefined

  add(list: ListName, ...names: readonly string[]): void {
    const known = this.#lists.get(list) ?? []
    this.#lists.set(list, [...known, ...names.filter((name) => !known.includes(name))])
  }

  has(list: ListName): boolean {
    return (this.#lists.get(list)?.length ?? 0) > 0
  }

  get document(): ImportWarnings {
    const lists = [...this.#lists].filter(([, names]) => names.length > 0)
    return {
      ...Object.fromEntries(lists.map(([name, names]) => [name, names.slice(0, mostListed)])),
      ...(this.encoding !== undefined && { encoding: this.encoding }),
      ...(this.sridAssumed !== undefined && { srid_assumed: this.sridAssumed }),
    }
  }
}

type ListName =
  | 'renamed'
  | 'columns_as_text'
  | 'skipped_files'
  | 'skipped_tables'
  | 'empty'
  | 'missing_columns'
  | 'closed_rings'
  | 'rounded_times'
  | 'rounded_numbers'
  | 'feature_ids'
const mostListed = 1_000

/** Where something is, for a sentence. */
export const placeOf = ({ name, isInArchive }: Pick<InputFile, 'name' | 'isInArchive'>) =>
  isInArchive ? `${name}: ` : ''

export const placeOfLayer = (layer: string | undefined) =>
  layer === undefined ? '' : `layer '${shownName(layer)}': `

/** The rows stored so far. What is read again counts once. */
export const storedRows = ({ stages }: Pick<Loading, 'stages'>) =>
  stages.reduce((sum, { rows }) => sum + rows, 0)

/** Throws if more rows or tables would be stored than an import may have. */
export function checkLimits({ stages, maxRows, maxTables, meter }: Loading): void {
  if (maxTables > 0 && stages.length > maxTables)
    throw new ImportFailure(1019, `The file makes more than ${maxTables} tables`)
  if (maxRows > 0 && meter.rows > maxRows)
    throw new ImportFailure(6668, `An import has at most ${maxRows} rows`)
}
