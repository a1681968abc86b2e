import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { kindOfCode } from '../../../src/query/files/file-geometry.ts'
import type { DbfField } from '../../../src/query/shapefile/dbf.ts'
import { emptyBox, ShapeEncoder } from '../../../src/query/shapefile/shape-encoder.ts'
import { ShapeFiles } from '../../../src/query/shapefile/shape-files.ts'
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

test('a shapefile with fewer rows than its headings say is an error', async (t) => {
  const { write } = await conversionIn(t)
  await assert.rejects(write([pointLayer('point', 1)]), { message: '0 rows instead of 1 in layer point' })
})

test('a disk that is full is the reason why there is no shapefile', async (t) => {
  const { directory, write } = await conversionIn(t)
  await symlink('/dev/full', join(directory, 'output.zip'))
  const reason = { name: 'ConversionError', message: 'the disk of the server is full' }
  await assert.rejects(write([pointLayer('point', 0)]), reason)
})

test('if one file of a shapefile cannot be opened, the others are closed', async (t) => {
  const { directory } = await conversionIn(t)
  await mkdir(join(directory, 'a.shx'))
  await assert.rejects(ShapeFiles.open(join(directory, 'a'), pointLayer('point', 0), []), { code: 'EISDIR' })
  const descriptors = await readdir('/proc/self/fd')
  const links = await Promise.all(
    descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  )
  assert.deepEqual(
    links.filter((path) => path.startsWith(directory)),
    [],
  )
})

test('the box of a point has no Z or M of the point before it', () => {
  const encoder = new ShapeEncoder()
  const wkb = Buffer.alloc(37)
  wkb[0] = 1
  const encode = (dimensions: number, values: readonly number[]) => {
    for (const [at, value] of values.entries()) wkb.writeDoubleLE(value, 5 + 8 * at)
    encoder.encode(new DataView(wkb.buffer, wkb.byteOffset), kindOfCode(1 + 1000 * dimensions))
    return [...encoder.box]
  }
  const none = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  assert.deepEqual(encode(3, [1, 2, 3, 4]), [1, 1, 2, 2, 3, 3, 4, 4])
  assert.deepEqual(encode(2, [1, 2, 5]), [1, 1, 2, 2, ...none, 5, 5])
  assert.deepEqual(encode(0, [6, 7]), [6, 6, 7, 7, ...none, ...none])
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
