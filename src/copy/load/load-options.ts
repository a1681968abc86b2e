import type { OnConflict } from '../../contract/formats.ts'
import type { SkipOptions } from './rejected-rows.ts'

/** What a load does besides a plain COPY. */
export type LoadOptions = Readonly<{
  /** Leave out the rows that PostgreSQL refuses. */
  skip?: SkipOptions | undefined
  /** Merge the rows into those that are there, by a key. */
  merge?: MergeOptions | undefined
}>

export type MergeOptions = Readonly<{ onConflict: OnConflict; key: readonly string[] }>
