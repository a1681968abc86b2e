import type { ImportPreview, ImportWarnings, RejectedRow, RejectedSection } from '../contract/documents.ts'
import type { CollisionStrategy, ImportPrivacy } from '../contract/import-names.ts'
import { nameInUrl } from './download/file-name.ts'
import { fileKinds, kindByName } from './files/file-kinds.ts'
import { stemOf, tableNameOf } from './files/names.ts'
import type { ImportErrorCode } from './import-failure.ts'

/** Where the rows come from. */
export type ImportSource =
  | Readonly<{ type: 'file'; name: string; bytes: number }>
  | Readonly<{ type: 'url'; url: string }>
  | Readonly<{ type: 'sql'; sql: string }>
  | Readonly<{ type: 'table'; table: string }>
  /** Nothing was sent. */
  | Readonly<{ type: 'nothing' }>

export type ImportSettings = Readonly<{
  tableName?: string | undefined
  collision?: CollisionStrategy | undefined
  /** For `upsert`. */
  key?: readonly string[] | undefined
  /** For `upsert`: rows of the table with the same key stay as they are. */
  keepsExisting?: boolean | undefined
  addColumns: boolean
  privacy?: ImportPrivacy | undefined
  typeGuessing: boolean
  quotedFieldsGuessing: boolean
  contentGuessing: boolean
  createVisualization: boolean
  /** The sheet of a workbook. */
  sheet?: string | undefined
  /** Only these, of files with layers. */
  layers?: readonly string[] | undefined
  /** So many rows that PostgreSQL refuses are left out. Absent: the first one fails the import. */
  maxBadRows?: number | undefined
  /** All of them are listed, with their whole text. */
  listsAllRejects?: boolean | undefined
  /** Nothing is stored: the document tells what would be. */
  isPreview?: boolean | undefined
}>

export type ImportProgress = Readonly<{
  bytes_read: number
  bytes_total: number
  rows: number
  tables_done: number
  tables_total: number
}>

/** What became of it. */
export type ImportResult = Readonly<{
  tables: readonly string[]
  created: number
  warnings: ImportWarnings
  error?: Readonly<{ code: ImportErrorCode; text: string }> | undefined
  /** Left out; the first ones are listed, or all. */
  rejected?:
    | Readonly<{ count: number; rows: readonly RejectedRow[]; sections?: readonly RejectedSection[] }>
    | undefined
  preview?: readonly ImportPreview[] | undefined
  /** For `upsert`. */
  merged?: MergedRows | undefined
}>

export type MergedRows = Readonly<{ inserted: number; updated: number }>

export const importPhases = ['pending', 'uploading', 'unpacking', 'importing'] as const
export type ImportPhase = (typeof importPhases)[number]

export type ImportRecord = Readonly<{
  keyId: number
  source: ImportSource
  options: ImportSettings
  spool: string | null
  phase: ImportPhase
  progress: ImportProgress | null
  result: ImportResult | null
  attempts: number
}>

type NamingChoice = Pick<ImportSettings, 'tableName'>

/** The one table that an import makes, if that is known before anything is read. */
export function knownTable(source: ImportSource, naming: NamingChoice): string | undefined {
  switch (source.type) {
    case 'file':
      return tableOfFile(source.name, naming)
    case 'url':
      return URL.canParse(source.url) ? tableOfFile(nameInUrl(new URL(source.url)), naming) : undefined
    case 'sql':
      return tableNameOf(naming.tableName ?? 'untitled_table')
    case 'table':
      return tableNameOf(naming.tableName ?? `${source.table}_copy`)
    case 'nothing':
      return undefined
  }
}

/** The table that a file becomes. Undefined: it is an archive, or its layers are part of the names. */
export function tableOfFile(name: string, { tableName }: NamingChoice): string | undefined {
  const kind = kindByName(name.replace(/\.gz$/i, ''))
  if (kind === undefined || fileKinds[kind].named !== 'file') return undefined
  return tableNameOf(tableName ?? stemOf(name))
}
