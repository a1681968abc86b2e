import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConversionError } from '../../convert/convert-rows.ts'
import { explainDiskError } from '../../convert/disk-error.ts'
import { zipFiles } from '../../convert/zip-files.ts'
import { rowNumber } from './dbf.ts'
import { fileSizes, ShapeFiles } from './shape-files.ts'
import type { ShapeTable } from './shape-rows.ts'
import { SpooledRows } from './spooled-rows.ts'

export type ShapeConversion = Readonly<{
  /** Gets the files. */
  directory: string
  /** The file that ShapeRows has filled. */
  spool: string
  table: ShapeTable
  /** The name of the only layer; of several, how all begin. */
  name: string
  signal: AbortSignal
}>

/** Writes the rows as a zip with a shapefile for each layer, and returns its path. A ConversionError says why it cannot. */
export async function writeShapefiles(conversion: ShapeConversion): Promise<string> {
  try {
    return await writeLayers(conversion)
  } catch (error) {
    throw explainDiskError(error)
  }
}

async function writeLayers(conversion: ShapeConversion): Promise<string> {
  const { directory, spool, table, name, signal } = conversion
  const { layers, fields, notes } = table
  requireSizes(layers.flatMap((layer) => fileSizes(layer, fields)))
  const folder = join(directory, 'layers')
  await mkdir(folder)
  const files: ShapeFiles[] = []
  try {
    for (const layer of layers) {
      const path = join(folder, layers.length === 1 ? name : `${name}_${layer.kind}`)
      files.push(await ShapeFiles.open(path, layer, fields))
      await writeFile(`${path}.prj`, projection)
      await writeFile(`${path}.cpg`, 'UTF-8')
    }
    await writeRows(spool, files, fields.filter((field) => field !== rowNumber).length, signal)
    for (const file of files) await file.end()
  } finally {
    for (const file of files) await file.close()
  }
  if (notes !== undefined) await writeFile(join(folder, 'columns.txt'), notes)
  const output = join(directory, 'output.zip')
  await zipFiles(folder, output, signal)
  return output
}

/** Short values of the spool are long fields of a DBF, and there are as many layers as kinds of geometries. */
function requireSizes(sizes: readonly number[]): void {
  if (sizes.some((size) => size > maxBytes))
    throw new ConversionError('a file of it would have more than 2 GB')
  if (sizes.reduce((sum, size) => sum + size) > maxBytesOfAll)
    throw new ConversionError('its files would have more than 4 GB')
}

/** Reads the rows once, and writes each into the files of its layer. */
async function writeRows(
  spool: string,
  files: readonly ShapeFiles[],
  columns: number,
  signal: AbortSignal,
): Promise<void> {
  const file = await open(spool)
  const rows = new SpooledRows(columns)
  try {
    for (;;) {
      signal.throwIfAborted()
      const { bytesRead } = await file.read(rows.bytes, rows.end, rows.bytes.length - rows.end)
      if (bytesRead === 0) return
      rows.end += bytesRead
      while (rows.writeTo(files)) for (const each of files) await each.flush()
      rows.makeRoom()
    }
  } finally {
    await file.close()
  }
}

const projection =
  'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],' +
  'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]'
const maxBytes = 2 * 1024 ** 3 - 1
/** Of all layers, before they are packed. */
const maxBytesOfAll = 4 * 1024 ** 3
