import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const rows = 60_000
const csv = `n,lon,lat\n${Array.from({ length: rows }, (_, at) => `${at},${at % 180},${at % 90}`).join('\n')}\n`

test('all tables of an import are there at one instant', async (t) => {
  const { post, wait, user } = await setupImports(t)
  const zip = zipOf(['one', 'two', 'three'].map((name) => ({ name: `${name}.csv`, content: csv })))
  const { item_queue_id: id } = (await (await post('all.zip', zip)).json()) as { item_queue_id: string }
  let isOver = false
  const ended = wait(id).finally(() => {
    isOver = true
  })
  const seen: string[] = []
  while (!isOver) {
    const { rows: counted } = await user.sql(
      `select count(*) from pg_class where relname in ('one', 'two', 'three') and relkind = 'r'`,
    )
    seen.push(counted[0].count)
  }
  assert.equal((await ended).tables_created_count, 3)
  assert.deepEqual(
    [...new Set(seen)].filter((count) => count !== '0' && count !== '3'),
    [],
  )
  assert.ok(seen.includes('0'), 'the tables were looked for while they were loaded')
})

test('while rows are added to a table nobody waits for it, and all of them are there at one instant', async (t) => {
  const { load, post, wait, user } = await setupImports(t)
  for (const collision_strategy of ['append', 'upsert']) {
    await user.sql('drop table if exists t')
    await load('t.csv', 'n,lon,lat\n-1,1,2\n')
    await user.sql('create unique index on t (n)')
    const answer = await post('t.csv', csv, { collision_strategy, key: 'n' })
    const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
    let isOver = false
    const ended = wait(id).finally(() => {
      isOver = true
    })
    const seen: number[] = []
    for (let mine = 2; !isOver; mine++) {
      await user.sql(`set lock_timeout = '3s'; insert into t (n) values (${-mine})`)
      const { rows: counted } = await user.sql('select count(*)::int as n from t where n >= 0')
      seen.push(counted[0].n)
    }
    assert.equal((await ended).get_error_text, null)
    assert.deepEqual(
      [...new Set(seen)].filter((count) => count !== 0 && count !== rows),
      [],
    )
    assert.ok(seen.includes(0), 'rows were counted while others were loaded')
  }
})
