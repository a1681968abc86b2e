import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Table as ArrowTable, tableToIPC } from 'apache-arrow'
import { Table, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm'

/** A file written by pyarrow 25 with make-files.py. */
export function columnFile(name: string): Buffer {
  const bytes = readFileSync(join(import.meta.dirname, '../../imports/columns/files', name))
  return name.endsWith('.gz') ? gunzipSync(bytes) : bytes
}

/** `geo`: the metadata of GeoParquet. */
export function parquetOf(table: ArrowTable, geo?: object): Buffer {
  const builder = new WriterPropertiesBuilder()
  const properties = geo ? builder.setKeyValueMetadata(new Map([['geo', JSON.stringify(geo)]])) : builder
  return Buffer.from(writeParquet(Table.fromIPCStream(tableToIPC(table, 'stream')), properties.build()))
}

/** WKB of a point. */
export function pointWkb(x: number, y: number): Uint8Array {
  const bytes = Buffer.alloc(21)
  bytes[0] = 1
  bytes.writeUInt32LE(1, 1)
  bytes.writeDoubleLE(x, 5)
  bytes.writeDoubleLE(y, 13)
  return new Uint8Array(bytes)
}
