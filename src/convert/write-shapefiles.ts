import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { convertRows } from './convert-rows.ts'
import type { Conversion, FileTable } from './gdal-formats.ts'
import { zipFiles } from './zip-files.ts'

/** A shapefile has one kind of geometry: each kind is a layer, rows without a geometry are in the first. */
export async function writeShapefiles(conversion: Conversion, output: string): Promise<void> {
  const { directory, layer, table, signal } = conversion
  const folder = join(directory, folderName)
  await mkdir(folder)
  const kinds = table.kinds.length > 0 ? table.kinds : ['point']
  for (const [at, kind] of kinds.entries()) {
    const name = kinds.length === 1 ? layer : `${layer}_${kind}`
    const options = ['-lco', 'ENCODING=UTF-8', '-nlt', typeOf(kind)]
    const where = `kind = '${kind}'${at === 0 ? ' OR kind IS NULL' : ''}`
    await convertRows({ ...conversion, layer: name }, folderName, options, where)
  }
  if (table.notes !== undefined) await writeFile(join(folder, 'columns.txt'), table.notes)
  await zipFiles(folder, join(directory, output), signal)
}

/** Of `linez`: LINESTRINGZ. A layer of lines also has lines of several parts. */
function typeOf(kind: FileTable['kinds'][number]): string {
  const [, family = '', dimensions = ''] = /^(point|multipoint|line|polygon)(zm|z|m)?$/.exec(kind) ?? []
  return `${family === 'line' ? 'LINESTRING' : family.toUpperCase()}${dimensions.toUpperCase()}`
}

const folderName = 'layers'
