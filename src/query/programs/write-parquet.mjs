// A program of its own: reads an Arrow stream from stdin and writes GeoParquet to stdout. Exits with 3 and a sentence on stderr if a
// value does not fit. Plain JavaScript, so that it runs from src/ as from dist/.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { Table as ArrowTable, RecordBatchReader, tableToIPC } from 'apache-arrow'
import {
  Compression,
  Table,
  transformParquetStream,
  WriterPropertiesBuilder,
  writeParquet,
} from 'parquet-wasm'
import { geoColumns, geoMetadata, noteGeometries, UnfitGeometry } from './geo-metadata.mjs'
import { crsOf } from './reference-systems.mjs'

async function main() {
  const reader = await RecordBatchReader.from(process.stdin)
  await reader.open()
  const columns = geoColumns(reader.schema)
  for (const column of columns) column.crs = await crsOf(column.srid)
  const place = columns.length === 0 ? undefined : placeholderOf(columns)
  const batches = reader[Symbol.asyncIterator]()
  const first = await batches.next()
  const properties = propertiesOf(place, first.value?.numRows ?? 0)
  // A stream without rows may have an empty batch.
  const end = !first.value?.numRows
    ? [writeParquet(wasmTable(new ArrowTable(reader.schema, [])), properties)]
    : await writeBatches(columns, first, batches, properties)
  process.stdout.end(place === undefined ? Buffer.concat(end) : filled(Buffer.concat(end), place, columns))
}

/** Writes row groups as they are full, and returns what follows the last batch: the metadata are there. */
async function writeBatches(columns, first, batches, properties) {
  let isRead = false
  const pull = async (controller) => {
    const { done, value } = first.isTaken ? await batches.next() : take(first)
    if (done) {
      isRead = true
      controller.close()
      return
    }
    noteGeometries(columns, value)
    for (const batch of wasmTable(new ArrowTable(value.schema, [value])).recordBatches())
      controller.enqueue(batch)
  }
  // The library does not tell of a source that fails.
  const source = new ReadableStream(
    { pull: (controller) => pull(controller).catch(fail) },
    { highWaterMark: 0 },
  )
  const end = []
  for await (const chunk of await transformParquetStream(source, properties)) {
    if (isRead) end.push(chunk)
    else if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
  }
  return end
}

function take(first) {
  first.isTaken = true
  return first
}

/** Row groups have 64 Ki rows, or fewer if rows are long: the writer holds one in memory. */
function propertiesOf(place, firstRows) {
  const isCut = firstRows > 0 && firstRows < maxRows
  const rows = isCut ? Math.min(maxRows, firstRows * batchesInGroup) : maxRows
  const builder = new WriterPropertiesBuilder()
    .setCompression(Compression.SNAPPY)
    // A dictionary for each column takes twice the time of all else, and most columns have too many values for one.
    .setDictionaryEnabled(false)
    .setMaxRowGroupSize(rows)
    .setCreatedBy('Cartage')
  return (place === undefined ? builder : builder.setKeyValueMetadata(new Map([['geo', place]]))).build()
}

const wasmTable = (table) => Table.fromIPCStream(tableToIPC(table, 'stream'))

/** As long as the metadata can become. */
function placeholderOf(columns) {
  const longest = geoMetadata(columns.map((column) => ({ ...column, ...longestOf })))
  return placeMark.padEnd(longest.length, ' ')
}

/** The place of the metadata in the end of the file. */
function filled(end, place, columns) {
  const at = end.indexOf(placeMark, 0, 'latin1')
  if (at < 0) throw new Error('the file has no place for its metadata')
  const metadata = geoMetadata(columns)
  if (metadata.length > place.length) throw new Error('the metadata are too long')
  end.write(metadata.padEnd(place.length, ' '), at, 'latin1')
  return end
}

const longestOf = {
  box: Array.from({ length: 6 }, () => -Number.MAX_VALUE),
  hasZ: true,
  types: new Set(
    [
      'Point',
      'LineString',
      'Polygon',
      'MultiPoint',
      'MultiLineString',
      'MultiPolygon',
      'GeometryCollection',
    ].flatMap((name) => [name, `${name} Z`]),
  ),
}

const placeMark = 'cartage-geo-metadata'
const maxRows = 64 * 1024
const batchesInGroup = 8

function fail(error) {
  const isUnfit = error instanceof UnfitGeometry
  writeSync(2, isUnfit ? error.message : String(error?.stack ?? error))
  process.exit(isUnfit ? 3 : 1)
}

await main().catch(fail)
