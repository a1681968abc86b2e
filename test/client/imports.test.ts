import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImportError } from '../../src/client/client.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'

test('a file, the rows of a SELECT and another table are imported, and the client waits for the end', async (t) => {
  const { imports, sql } = clientOf(t, await setup(t, { worker: true }))
  let sent = 0
  const onProgress = ({ bytes }: { bytes: number }) => {
    sent = bytes
  }
  const file = 'name,people\nParis,2\nLyon,1\n'
  const made = await imports.run(
    { file: inPieces(file), filename: 'cities.csv' },
    { privacy: 'public' },
    { onProgress },
  )
  assert.deepEqual([made.state, made.table_names, sent], ['complete', ['cities'], file.length])
  const again = await imports.run({ file, filename: 'cities.csv' }, { collision_strategy: 'append' })
  assert.deepEqual(again.table_names, ['cities'])
  await imports.run({ sql: 'select name from cities where people > 1' }, { table_name: 'large' })
  await imports.run({ table_copy: 'large' }, { table_name: 'copied' })
  const { rows } = await sql(
    'select (select count(*) from cities) as cities, (select count(*) from copied) as copied',
  )
  assert.deepEqual(rows, [{ cities: 4, copied: 2 }])
  assert.deepEqual((await imports.list()).imports, [])
  assert.equal((await imports.list({ all: true })).imports.length, 4)
})

async function* inPieces(text: string) {
  yield text.slice(0, 10)
  yield text.slice(10)
}

test('a failed import is thrown with its document, and a cancelled one says so', async (t) => {
  const { imports } = clientOf(t, await setup(t, { worker: true }))
  const failed = imports.run({ file: 'a,b\n1,"2\n', filename: 'broken.csv' })
  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof ImportError)
    assert.deepEqual(
      [error.code, error.import.state, error.import.error_code],
      ['import-failed', 'failure', 2003],
    )
    return true
  })
  const { item_queue_id: id } = await imports.create(
    { sql: 'select 1 as n from pg_sleep(60)' },
    { table_name: 'late' },
  )
  const cancelled = await imports.cancel(id)
  assert.deepEqual([cancelled.state, cancelled.error_code], ['failure', 6672])
  assert.equal((await imports.finished(id)).error_code, 6672)
})
