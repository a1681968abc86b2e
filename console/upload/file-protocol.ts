import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import type { Inference } from '../../src/file-import/infer-types.ts'

export type ToFileWorker =
  /** Reads the file from its beginning; without a dialect, guesses it. */
  | Readonly<{ kind: 'read'; file: File; dialect?: CsvDialect | undefined }>
  | Readonly<{ kind: 'line'; line: number }>

/** What the beginning of a file tells. */
export type FileHead = Readonly<{
  /** What is to be sent. */
  body: Blob
  isGzip: boolean
  isGeojson: boolean
  dialect: CsvDialect
  /** With the header, if there is one. */
  rows: readonly (readonly (string | null)[])[]
}>

export type FileReading = Readonly<{
  /** Decompressed. */
  bytes: number
  isWhole: boolean
  inference: Inference
  isEncodingRight: boolean
}>

/** Why a file cannot be read here; `other-format` is for ogr2ogr. */
export type FileProblem = Readonly<{ kind: 'other-format' | 'unreadable'; message: string }>

export type FromFileWorker =
  | (Readonly<{ kind: 'head'; reading: FileReading }> & Readonly<{ head: FileHead }>)
  | Readonly<{ kind: 'reading'; reading: FileReading }>
  | Readonly<{ kind: 'problem'; problem: FileProblem }>
  | Readonly<{ kind: 'line'; line: number; text: string }>
