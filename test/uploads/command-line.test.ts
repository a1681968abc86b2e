import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { cuttingNetwork } from '../support/http/cutting-network.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const rows = 700
/** Some 70 MB that no compression makes smaller than half. */
const csv = `id,text\n${Array.from({ length: rows }, (_, id) => `${id},${randomBytes(50_000).toString('hex')}`).join('\n')}\n`

async function setupCuts(t: TestContext, name: string, content: string | Buffer, cuts: number) {
  const house = await setupImports(t)
  const network = await cuttingNetwork(t, house.url, 12_000_000, cuts)
  const folder = await mkdtemp(join(tmpdir(), 'import-large-'))
  const path = join(folder, name)
  await writeFile(path, content)
  return { ...house, network, path, folder }
}

test('`cartage import` continues a large file after interruptions and shows what is left', async (t) => {
  // Two files, so that the zip is large too.
  const files = ['one', 'two'].map((name) => ({ name: `${name}.csv`, content: csv }))
  const { network, path, user, ...house } = await setupCuts(t, 'large.zip', zipOf(files), 2)
  const done = await cartage({ ...connection({ ...house, user }), CARTAGE_URL: network.url }, 'import', path)
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /^the connection was cut: [\d.]+ MB of [\d.]+ MB are left, going on\n/)
  assert.match(done.err, /\none, two: 1,400 rows/)
  assert.equal(network.cutsLeft(), 0)
  const counted = await user.sql('select count(distinct id)::int as n, sum(length(text))::int as l from two')
  assert.deepEqual(counted.rows, [{ n: rows, l: rows * 100_000 }])
})

test('`cartage import` of a large CSV file to another machine continues after interruptions, and leaves no temporary file', async (t) => {
  const { network, path, user, folder, ...house } = await setupCuts(t, 'far.csv', csv, 2)
  // An address that does not look like this machine.
  const url = network.url.replace('127.0.0.1', '0.0.0.0')
  const env = { ...connection({ ...house, user }), CARTAGE_URL: url, TMPDIR: folder }
  const done = await cartage(env, 'import', path)
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /the connection was cut: [\d.]+ MB of [\d.]+ MB are left, going on\n/)
  assert.match(done.err, /far: 700 rows/)
  assert.equal(network.cutsLeft(), 0)
  assert.deepEqual((await user.sql('select count(distinct id)::int as n from far')).rows, [{ n: rows }])
  assert.deepEqual(await readdir(folder), ['far.csv'])
})
