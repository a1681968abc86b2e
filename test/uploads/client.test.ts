import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cuttingNetwork } from '../support/http/cutting-network.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { clientOf } from '../support/keys/client-of.ts'

const rows = 40_000
const text = `id,name\n${Array.from({ length: rows }, (_, id) => `${id},name of row ${id}`).join('\n')}\n`

test('a large file of an import continues after interruptions, and the client is told the progress', async (t) => {
  const house = await setupImports(t)
  const network = await cuttingNetwork(t, house.url, 300_000, 2)
  const { imports } = clientOf(t, { ...house, url: network.url })
  const cuts: number[] = []
  let sent = 0
  const done = await imports.run(
    { file: new Blob([text]), filename: 'large.csv' },
    { table_name: 'Large one', privacy: 'public' },
    {
      resumableFromBytes: 1_000,
      onCut: ({ bytes, total }) => {
        assert.equal(total, text.length)
        cuts.push(bytes)
      },
      onProgress: ({ bytes }) => {
        sent = bytes
      },
    },
  )
  assert.deepEqual([done.state, done.table_name, done.progress.rows], ['complete', 'large_one', rows])
  assert.equal(network.cutsLeft(), 0)
  assert.ok(cuts.length >= 2 && cuts.at(-1)! > 0, cuts.join())
  assert.equal(sent, text.length)
})

test('a file is sent in pieces as a copyfrom, and a stopped upload leaves nothing', async (t) => {
  const house = await setupImports(t)
  const network = await cuttingNetwork(t, house.url, 300_000, 1)
  const { uploads } = clientOf(t, { ...house, url: network.url })
  await house.user.sql('create table t (id int, name text)')
  const metadata = { kind: 'copyfrom', q: 'copy t from stdin with (format csv, header)' }
  const { answer } = await uploads.send(new Blob([text]), metadata, { pieceBytes: 200_000 })
  assert.equal(answer!.total_rows, rows)
  const refused = uploads.send(new Blob([text]), { ...metadata, q: 'select 1' })
  await assert.rejects(refused, { code: 'copy-refused', status: 400 })

  const stop = new AbortController()
  const before = house.left()
  const stopped = uploads.send(new Blob([text]), metadata, {
    pieceBytes: 100_000,
    signal: stop.signal,
    onProgress: ({ bytes }) => {
      if (bytes > 300_000) stop.abort()
    },
  })
  await assert.rejects(stopped, { name: 'AbortError' })
  assert.deepEqual(house.left(), before)
})
