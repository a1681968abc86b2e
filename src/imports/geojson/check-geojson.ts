import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { InputFile } from '../files/upload-files.ts'
import { ImportFailure } from '../import-failure.ts'
import { placeOf } from '../load/loading.ts'
import { GeojsonChecker } from './geojson-checker.ts'
import { JsonError, JsonScanner } from './json-scanner.ts'

/** What a file of GeoJSON must become. */
export type CheckedGeojson = Readonly<{ features: number; hasLostIds: boolean }>

/** Reads a whole file of GeoJSON, and refuses what GDAL would leave out or change. No transaction is open meanwhile. */
export async function checkGeojson(input: InputFile, signal: AbortSignal): Promise<CheckedGeojson> {
  const checker = new GeojsonChecker()
  const scanner = new JsonScanner(checker)
  const bytes = createReadStream(join(input.folder, input.file), { signal, highWaterMark: 64 * 1024 })
  try {
    let isFirst = true
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      scanner.push(isFirst && chunk.subarray(0, 3).equals(byteOrderMark) ? chunk.subarray(3) : chunk)
      isFirst = false
    }
    scanner.end()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof JsonError) throw new ImportFailure(3007, `${placeOf(input)}${error.message}`)
    if (error instanceof ImportFailure)
      throw new ImportFailure(error.code, `${placeOf(input)}${error.message}`, { cause: error })
    throw error
  }
  const { crs, features, hasLostIds, isFar } = checker
  if (crs?.kind === 'unknown')
    throw new ImportFailure(
      3008,
      `${placeOf(input)}The reference system of the file is not known: ${crs.name.slice(0, 200)}`,
    )
  if (crs === undefined && isFar)
    throw new ImportFailure(
      3101,
      `${placeOf(input)}The file does not name its reference system, and its coordinates are not longitude and latitude`,
    )
  return { features, hasLostIds }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])
