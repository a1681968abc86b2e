import { join } from 'node:path'
import { formatFacts } from '../contract/formats.ts'
import { ConversionError, convertRows } from './convert-rows.ts'
import { type Conversion, type FileTable, gdalFormats } from './gdal-formats.ts'

/** Writes the rows in a format of GDAL and returns the path of the file. Throws a ConversionError. */
export async function writeFile(conversion: Conversion): Promise<string> {
  const { directory, format, table } = conversion
  const { fid } = gdalFormats[format]
  const { extension } = formatFacts[format]
  const output = `output.${extension}`
  const { idColumn } = table
  if (fid !== undefined && idColumn !== undefined) {
    try {
      await convertRows(conversion, output, ['-lco', `FID=${idColumn}`])
      return join(directory, output)
    } catch (error) {
      // Ids that are not unique are a column like others.
      if (!(error instanceof ConversionError) || error.isStopped) throw error
    }
  }
  const last = `second.${extension}`
  await convertRows(conversion, last, fid === undefined ? [] : ['-lco', `FID=${freeId(fid, table)}`])
  return join(directory, last)
}

function freeId(usual: string, { columns }: FileTable): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()))
  let name = usual
  for (let count = 1; taken.has(name); count += 1) name = `${usual}_${count}`
  return name
}
