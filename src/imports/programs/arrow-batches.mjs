import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { CompressionType, compressionRegistry, RecordBatchReader } from 'apache-arrow'
import { decompress as decodeZstd } from 'fzstd'
import lz4 from 'lz4js'
import { FileError } from './fail.mjs'
import { geometriesOfSchema } from './geometry-columns.mjs'

// Copies begin at a multiple of 8, as numbers of 8 bytes must.
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => lz4.decompress(bytes).slice() })
compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => decodeZstd(bytes).slice() })

/** The schema, the geometry columns and the rows of an Arrow file or stream. */
export async function arrowBatches(path) {
  const file = await open(path)
  const isFile = (await bytesAt(file, 0, 6)).toString('latin1') === 'ARROW1'
  if (!isFile) await checkEnd(file)
  const reader = await RecordBatchReader.from(isFile ? file : createReadStream(path))
  await reader.open()
  const { schema } = reader
  if (!schema) throw new FileError(2001, 'the file has no schema')
  return { schema, geometries: geometriesOfSchema(schema), batches: readRows(reader, isFile) }
}

async function* readRows(reader, isFile) {
  const declared = isFile ? reader.numRecordBatches : 0
  let count = 0
  for await (const batch of reader) {
    count += 1
    if (batch.numRows > 0) yield batch
  }
  // A reader that does not find a batch ends.
  if (isFile && declared > 0 && count !== declared)
    throw new FileError(2001, `the file says that it has ${declared} batches of rows, and has ${count}`)
}

/** A stream that was cut between two batches looks whole but for its end mark. */
async function checkEnd(file) {
  const { size } = await file.stat()
  const end = await bytesAt(file, Math.max(0, size - 8), 8)
  if (!end.equals(endMark)) throw new FileError(2001, 'the stream has no end: it may be cut')
}

const endMark = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0])

async function bytesAt(file, at, length) {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}
