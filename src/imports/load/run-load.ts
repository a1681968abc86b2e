import type { InputFile } from '../files/upload-files.ts'
import type { CheckedGeojson } from '../geojson/check-geojson.ts'
import { ImportFailure } from '../import-failure.ts'
import type { ImportRecord, ImportResult, MergedRows } from '../import-record.ts'
import { DatabaseFault, failureOf } from './database-fault.ts'
import { finishTables } from './finish-tables.ts'
import { loadConverted } from './load-converted.ts'
import { loadCsv, type ReadCsv } from './load-csv.ts'
import { loadQuery } from './load-query.ts'
import { type Loading, placeOf, storedRows } from './loading.ts'
import { previewTables } from './preview-tables.ts'
import type { Rejects } from './rejects.ts'
import { queryInCatalog } from './run-statement.ts'

/** What was found out before the transaction began. */
export type PreparedImport = Readonly<{
  source: ImportRecord['source']
  inputs: readonly InputFile[]
  /** The inputs that were read for their types. */
  csvs: ReadonlyMap<InputFile, ReadCsv>
  /** The inputs that were checked. */
  geojsons: ReadonlyMap<InputFile, CheckedGeojson>
  /** Tables that are there, with the strategy `skip`: their files are not among the inputs. */
  skipped: readonly string[]
}>

/** Loads everything in the transaction of the session, up to its commit. Throws an ImportFailure if the client can repair the file. */
export async function runLoad(
  loading: Loading,
  prepared: PreparedImport,
  limitMs: number,
): Promise<ImportResult> {
  const { session, meter } = loading
  meter.phase = 'importing'
  await queryInCatalog(
    session,
    `set local statement_timeout = ${limitMs}; set local timezone = 'UTC'; set local datestyle = 'ISO, YMD';
     set local search_path to pg_catalog`,
  )
  let place = ''
  try {
    if (prepared.source.type === 'sql' || prepared.source.type === 'table')
      await loadQuery(loading, prepared.source)
    for (const input of prepared.inputs) {
      place = placeOf(input)
      const csv = prepared.csvs.get(input)
      const before = loading.stages.length
      await (csv ? loadCsv(loading, input, csv) : loadConverted(loading, input, prepared.geojsons.get(input)))
      for (const stage of loading.stages.slice(before)) stage.place = place
    }
    place = ''
    const { rejects } = loading
    const result = await (loading.options.isPreview
      ? previewTables(loading)
      : finishTables(loading, prepared.skipped))
    meter.finish(storedRows(loading))
    return { ...result, rejected: rejects && rejectedOf(rejects), merged: mergedOf(loading) }
  } catch (error) {
    throw misfit(loading, error, place) ?? failureOf(error, place) ?? error
  }
}

/** The counts of all tables; undefined: nothing was merged. All rows of a new table count as inserted. */
function mergedOf({ stages, options }: Loading): MergedRows | undefined {
  if (options.collision !== 'upsert' || options.isPreview) return undefined
  const merged = stages.map((stage) => stage.merged ?? { inserted: stage.rows, updated: 0 })
  const sum = (read: (each: MergedRows) => number) => merged.reduce((all, each) => all + read(each), 0)
  return { inserted: sum(({ inserted }) => inserted), updated: sum(({ updated }) => updated) }
}

/** For the document; undefined if every row was stored. */
export const rejectedOf = ({ count, rows, keepsAll, sections }: Rejects) =>
  count > 0 ? { count, rows, ...(keepsAll && { sections }) } : undefined

/** A value that a column of the table to be changed refuses. */
function misfit({ options }: Loading, error: unknown, place: string): ImportFailure | undefined {
  const isMerged = options.collision !== undefined && options.collision !== 'skip'
  if (!isMerged || !(error instanceof DatabaseFault) || !/^22(?!P04|021)/.test(error.sqlstate))
    return undefined
  return new ImportFailure(2012, failureOf(error, place)?.message ?? error.message, { cause: error })
}
