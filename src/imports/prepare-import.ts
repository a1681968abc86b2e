import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { downloadFile } from './download/download-file.ts'
import { type InputFile, maxEntries, openUpload, type UploadFiles } from './files/upload-files.ts'
import { type CheckedGeojson, checkGeojson } from './geojson/check-geojson.ts'
import { ImportFailure } from './import-failure.ts'
import { type ImportRecord, knownTable, tableOfFile } from './import-record.ts'
import type { Imports } from './imports.ts'
import { type ReadCsv, readCsv } from './load/load-csv.ts'
import type { ProgressMeter, Warnings } from './load/loading.ts'
import type { PreparedImport } from './load/run-load.ts'
import { removeFolder } from './spool.ts'

type Preparing = Readonly<{
  imports: Imports
  id: string
  record: ImportRecord
  /** With the strategy `skip`: the names of tables that are there. */
  taken: ReadonlySet<string>
  meter: ProgressMeter
  warnings: Warnings
  signal: AbortSignal
}>

/** What can be done before the transaction begins: download the file, unpack the file, read the types of CSV, check GeoJSON. */
export async function prepareImport(preparing: Preparing): Promise<PreparedImport> {
  const { record, taken } = preparing
  const { source, options } = record
  const isTaken = (table: string | undefined) => table !== undefined && taken.has(table)
  const unread = (skipped: readonly string[]) => {
    return { source, inputs: [], csvs: new Map(), geojsons: new Map(), skipped }
  }
  // What a server calls its file is known when the file is here.
  const table = source.type === 'url' ? undefined : knownTable(source, options)
  if (isTaken(table)) return unread([table!])
  if (source.type !== 'file' && source.type !== 'url') return unread([])
  const name = source.type === 'file' ? source.name : await download(preparing, source.url)
  const called = tableOfFile(name, options)
  if (isTaken(called)) return unread([called!])
  const { inputs, skipped } = await unpack(preparing, name)
  if (skipped.length > 0) preparing.warnings.add('skipped_files', ...skipped)
  const tables = inputs.map((input) => tableOfFile(input.name, options))
  const wanted = inputs.filter((_, at) => !isTaken(tables[at]))
  return {
    ...(await readInputs(preparing, wanted)),
    skipped: [...new Set(tables.filter(isTaken) as string[])],
  }
}

async function readInputs(
  { imports, record, meter, signal }: Preparing,
  inputs: readonly InputFile[],
): Promise<Omit<PreparedImport, 'skipped'>> {
  const { source, options } = record
  meter.bytesTotal = inputs.reduce((sum, { bytes }) => sum + bytes, 0)
  const { importMaxTables: most } = imports.config
  if (most > 0 && inputs.length > most)
    throw new ImportFailure(1019, `The archive has more than ${most} files to import`)
  const csvs = new Map<InputFile, ReadCsv>()
  const geojsons = new Map<InputFile, CheckedGeojson>()
  for (const input of inputs) {
    const { kind } = input
    if (kind === 'csv') csvs.set(input, await readCsv(input, options, signal))
    if (kind === 'geojson' || kind === 'geojsonl') geojsons.set(input, await checkGeojson(input, signal))
  }
  return { source, inputs, csvs, geojsons }
}

/** The file comes to the place where an uploaded one is. Returns its name. */
async function download({ imports, id, meter, signal }: Preparing, url: string): Promise<string> {
  meter.phase = 'uploading'
  const spool = await imports.spool()
  const { importMaxBytes: maxBytes, copyIdleMs: idleMs } = imports.config
  await spool.remove(id)
  await mkdir(spool.folderOf(id), { mode: 0o700 })
  const name = await downloadFile(imports.network, url, spool.fileOf(id), { maxBytes, idleMs, signal })
  meter.phase = 'unpacking'
  return name
}

async function unpack({ imports, id, signal }: Preparing, name: string): Promise<UploadFiles> {
  const spool = await imports.spool()
  const { config } = imports
  const folder = join(spool.folderOf(id), 'work')
  await removeFolder(folder)
  await mkdir(folder, { mode: 0o700 })
  return openUpload(spool.fileOf(id), name, folder, {
    maxBytes: config.importUnpackedBytes,
    maxEntries,
    maxRatio: 200,
    signal,
  })
}
