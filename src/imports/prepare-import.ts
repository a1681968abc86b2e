import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { downloadFile } from './download/download-file.ts'
import { type InputFile, openUpload, type UploadFiles } from './files/upload-files.ts'
import { type CheckedGeojson, checkGeojson } from './geojson/check-geojson.ts'
import { ImportFailure } from './import-failure.ts'
import type { ImportRecord } from './import-record.ts'
import type { Imports } from './imports.ts'
import { type ReadCsv, readCsv } from './load/load-csv.ts'
import type { ProgressMeter, Warnings } from './load/loading.ts'
import type { PreparedImport } from './load/run-load.ts'
import { removeFolder } from './spool.ts'

type Preparing = Readonly<{
  imports: Imports
  id: string
  record: ImportRecord
  meter: ProgressMeter
  warnings: Warnings
  signal: AbortSignal
}>

/** What can be done before the transaction begins: download the file, unpack the file, read the types of CSV, check GeoJSON. */
export async function prepareImport(preparing: Preparing): Promise<PreparedImport> {
  const { record, signal, meter, warnings } = preparing
  const { source, options } = record
  if (source.type !== 'file' && source.type !== 'url')
    return { source, inputs: [], csvs: new Map(), geojsons: new Map() }
  const name = source.type === 'file' ? source.name : await download(preparing, source.url)
  const { inputs, skipped } = await unpack(preparing, name)
  if (skipped.length > 0) warnings.add('skipped_files', ...skipped)
  meter.bytesTotal = inputs.reduce((sum, { bytes }) => sum + bytes, 0)
  const { importMaxTables: most } = preparing.imports.config
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
    maxEntries: 1_000,
    maxRatio: 200,
    signal,
  })
}
