// A program of its own, for the sandbox: reads a Parquet or Arrow file and writes its rows to stdout as a PostgreSQL dump, like the
// one that GDAL writes. Arguments: the file, its kind, `flat` or `raw` geometries, and how many bytes the rows may take.
// On stderr: `ERROR CODE: sentence`. Exits with 4 if a geometry is not flat.
import { writeSync } from 'node:fs'
import { arrowBatches } from './arrow-batches.mjs'
import { DumpWriter } from './dump-writer.mjs'
import { FileError, NotFlat } from './fail.mjs'
import { parquetBatches } from './parquet-batches.mjs'

const [file, kind, geometries, maxBytes] = process.argv.slice(2)

async function main() {
  const source = kind === 'parquet' ? await parquetBatches(file) : await arrowBatches(file)
  const writer = new DumpWriter(source, { isFlat: geometries === 'flat', maxBytes: Number(maxBytes) })
  await writer.begin()
  for await (const batch of source.batches) await writer.write(batch)
  await writer.end()
}

function fail(error) {
  if (error instanceof NotFlat) process.exit(4)
  const code = error instanceof FileError ? error.code : 2001
  const text = String(error?.message ?? error).replaceAll(/\s+/g, ' ')
  writeSync(2, `ERROR ${code}: ${text.slice(0, 500)}\n`)
  process.exit(1)
}

process.stdout.on('error', () => process.exit(1))
await main().catch(fail)
