// A program of its own: reads an Arrow stream from stdin and writes GeoParquet to stdout. Exits with 3 and a sentence on stderr if a
// value does not fit. Plain JavaScript, so that it runs from src/ as from dist/.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import {
  Compression,
  EnabledStatistics,
  Table,
  transformParquetStream,
  WriterPropertiesBuilder,
  writeParquet,
} from 'parquet-wasm'
import { readArrowParts } from './arrow-parts.mjs'
import { geoColumns, geoMetadata, noteGeometries, UnfitGeometry } from './geo-metadata.mjs'
import { crsOf } from './reference-systems.mjs'

async function main() {
  const { schema, schemaBytes, parts } = await readArrowParts(process.stdin)
  const columns = geoColumns(schema)
  for (const column of columns) column.crs = await crsOf(column.srid)
  const place = columns.length === 0 ? undefined : placeholderOf(columns)
  const first = await parts.next()
  const properties = propertiesOf(columns, place, first.value?.rows ?? 0)
  // A stream without rows may have an empty batch.
  const end = !first.value?.rows
    ? [writeParquet(Table.fromIPCStream(schemaBytes), properties)]
    : await writeBatches(columns, first, parts, properties)
  process.stdout.end(place === undefined ? Buffer.concat(end) : filled(Buffer.concat(end), place, columns))
}

/** Writes row groups as they are full, and returns what follows the last batch: the metadata are there. */
async function writeBatches(columns, first, parts, properties) {
  let isRead = false
  const pull = async (controller) => {
    const { done, value } = first.isTaken ? await parts.next() : take(first)
    if (done) {
      isRead = true
      controller.close()
      return
    }
    if (columns.length > 0) noteGeometries(columns, value.batch())
    for (const batch of Table.fromIPCStream(value.bytes).recordBatches()) controller.enqueue(batch)
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
function propertiesOf(columns, place, firstRows) {
  const rows = firstRows > 0 ? Math.min(maxRows, firstRows * batchesInGroup) : maxRows
  let builder = new WriterPropertiesBuilder()
    .setCompression(Compression.SNAPPY)
    // A dictionary for each column takes twice the time of all else, and most columns have too many values for one.
    .setDictionaryEnabled(false)
    .setStatisticsEnabled(EnabledStatistics.Chunk)
    .setMaxRowGroupSize(rows)
    .setCreatedBy('Cartage')
  // The lowest and highest of the bytes of geometries tell nothing.
  for (const { name } of columns) builder = builder.setColumnStatisticsEnabled(name, EnabledStatistics.None)
  return (place === undefined ? builder : builder.setKeyValueMetadata(new Map([['geo', place]]))).build()
}

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
/** A batch has up to 16 Ki rows or 2 MB. */
const batchesInGroup = 32

function fail(error) {
  const isUnfit = error instanceof UnfitGeometry
  writeSync(2, isUnfit ? error.message : String(error?.stack ?? error))
  process.exit(isUnfit ? 3 : 1)
}

await main().catch(fail)
