import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import type { ImportPlan } from '../../src/file-import/import-plan.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'

export type ToFileWorker =
  /** Reads the file from its start. Without a dialect it is guessed. */
  | Readonly<{ kind: 'read'; file: File; dialect?: CsvDialect | undefined }>
  | Readonly<{ kind: 'line'; line: number }>
  /** Rewrites the rows as planned: see rewriteRows. */
  | Readonly<{ kind: 'rewrite'; plan: ImportPlan }>

export type UploadBody = Readonly<{ body: Blob; isGzip: boolean }>

/** Facts from the beginning of a file. */
export type FileHead = Readonly<{
  /** The bytes to send. */
  body: Blob
  isGzip: boolean
  isGeojson: boolean
  dialect: CsvDialect
  /** The first rows, including the header if there is one. */
  rows: readonly (readonly (string | null)[])[]
}>

/** Why the browser cannot read a file. One of `other-format` is for the service, or for ogr2ogr. */
export type FileProblem = Readonly<{ kind: 'other-format' | 'unreadable'; message: string }>

export type FromFileWorker =
  | (Readonly<{ kind: 'head'; reading: FileReading }> & Readonly<{ head: FileHead }>)
  | Readonly<{ kind: 'reading'; reading: FileReading }>
  | Readonly<{ kind: 'rewritten'; body: UploadBody }>
  | Readonly<{ kind: 'problem'; problem: FileProblem }>
  | Readonly<{ kind: 'line'; line: number; text: string }>
