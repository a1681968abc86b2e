import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DbfField } from '../../../src/query/shapefile/dbf.ts'
import { emptyBox } from '../../../src/query/shapefile/shape-encoder.ts'
import type { ShapeLayer } from '../../../src/query/shapefile/shape-rows.ts'
import { writeShapefiles } from '../../../src/query/shapefile/write-shapefiles.ts'

test('shapefiles that together would have more than 4 GB are refused before a file is written', async (t) => {
  const rows = 7_000_000
  const layers = [pointLayer('point', rows), pointLayer('pointz', rows), pointLayer('pointm', rows)]
  const { directory, write } = await conversionIn(t)
  // Of each layer the .dbf has 1.8 GB.
  const reason = { name: 'ConversionError', message: 'its files would have more than 4 GB' }
  await assert.rejects(write(layers), reason)
  await assert.rejects(write([pointLayer('point', 1.3 * rows)]), /a file of it would have more than 2 GB/)
  assert.deepEqual(await readdir(directory), ['shapes'])
})

const pointLayer = (kind: string, rows: number): ShapeLayer => ({
  kind,
  type: 1,
  box: emptyBox(),
  rows,
  shapeBytes: 20 * rows,
})

/** A folder with an empty spool, as the rows of a query leave it. */
async function conversionIn(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'write-shapefiles-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const spool = join(directory, 'shapes')
  await writeFile(spool, '')
  const text: DbfField = { name: 'text', type: 'C', width: 254, decimals: 0 }
  const write = (layers: readonly ShapeLayer[]) =>
    writeShapefiles({
      directory,
      spool,
      table: { layers, fields: [text], notes: undefined, warnings: [] },
      name: 'rows',
      signal: new AbortController().signal,
    })
  return { directory, write }
}
