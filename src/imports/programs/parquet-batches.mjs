import { openAsBlob } from 'node:fs'
import { RecordBatchReader } from 'apache-arrow'
import { ParquetFile } from 'parquet-wasm'
import { FileError } from './fail.mjs'
import { geometriesOfGeo, geometriesOfSchema } from './geometry-columns.mjs'

/** The schema, the geometry columns and the rows of a Parquet file, as batches of Arrow. */
export async function parquetBatches(path) {
  const file = await ParquetFile.fromFile(await openAsBlob(path))
  const metadata = file.metadata().fileMetadata()
  const { schema } = RecordBatchReader.from(file.schema().intoIPCStream()).open()
  const geo = metadata.keyValueMetadata().get('geo')
  const geometries = geo === undefined ? geometriesOfSchema(schema) : geometriesOfGeo(schema, geo)
  return { schema, geometries, rows: metadata.numRows(), batches: readRows(file, metadata.numRows()) }
}

async function* readRows(file, declared) {
  let rows = 0
  for await (const part of await file.stream({ batchSize, concurrency: 1 })) {
    for (const batch of RecordBatchReader.from(part.intoIPCStream())) {
      rows += batch.numRows
      if (batch.numRows > 0) yield batch
    }
  }
  if (rows !== declared)
    throw new FileError(2001, `the file says that it has ${declared} rows, and has ${rows}`)
}

const batchSize = 8192
