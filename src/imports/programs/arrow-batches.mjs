import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { CompressionType, compressionRegistry, RecordBatchReader } from 'apache-arrow'
import { decompress as decodeZstd } from 'fzstd'
import lz4 from 'lz4js'
import { FileError } from './fail.mjs'
import { geometriesOfSchema } from './geometry-columns.mjs'

// Copies begin at a multiple of 8, as numbers of 8 bytes must.
compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => decodeLz4(bytes).slice() })
compressionRegistry.set(CompressionType.ZSTD, { decode: (bytes) => decodeZstd(bytes).slice() })

/** The library does not look whether the blocks of a frame are there: it reads on behind the end, up to 2 GB a block. */
function decodeLz4(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [hasSums, hasSize, hasDictionary] = [16, 8, 1].map((bit) => (bytes[4] & bit) !== 0)
  let at = 7 + (hasSize ? 8 : 0) + (hasDictionary ? 4 : 0)
  for (;;) {
    if (at + 4 > bytes.length)
      throw new FileError(2001, 'the file is broken: compressed values are not whole')
    const size = view.getUint32(at, true) & 0x7fffffff
    if (size === 0) return lz4.decompress(bytes)
    at += 4 + size + (hasSums ? 4 : 0)
  }
}

/** The schema, the geometry columns and the rows of an Arrow file or stream. */
export async function arrowBatches(path) {
  const file = await open(path)
  const isFile = (await bytesAt(file, 0, 6)).toString('latin1') === 'ARROW1'
  if (!isFile) await checkEnd(file)
  const reader = await RecordBatchReader.from(isFile ? file : createReadStream(path))
  await reader.open()
  const { schema } = reader
  if (!schema) throw new FileError(2001, 'the file has no schema')
  return {
    schema,
    geometries: geometriesOfSchema(schema),
    batches: isFile ? readFile(reader) : readStream(reader),
  }
}

/** Batch by batch, as the end of the file lists them. Its iterator would begin again at a schema in the place of a batch. */
async function* readFile(reader) {
  for (let number = 0; number < reader.numRecordBatches; number += 1) {
    const batch = await reader.readRecordBatch(number)
    if (!batch)
      throw new FileError(
        2001,
        `the file is broken: batch ${number + 1} of ${reader.numRecordBatches} is missing`,
      )
    if (batch.numRows > 0) yield batch
  }
}

async function* readStream(reader) {
  for await (const batch of reader) if (batch.numRows > 0) yield batch
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
