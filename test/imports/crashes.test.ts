import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ImportDocument } from '../../src/contract/documents.ts'
import { made, places } from '../support/imports/import-api.ts'
import { startImportApi } from '../support/imports/import-processes.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('an import whose worker is killed leaves no part; another worker loads it once and completely', {
  timeout: 300_000,
}, async (t) => {
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // The processes of the service run without root.
  chmodSync(spool, 0o777)
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const base = `${await startImportApi(t, house, spool)}/user/${user.username}`
  const start = () => startWorkerProcess(t, house, { CARTAGE_IMPORT_DIR: spool })
  const post = async (name: string, body: string | Buffer) => {
    const url = `${base}/api/v1/imports?filename=${name}&api_key=${user.masterToken}`
    const answer = await fetch(url, { method: 'POST', body: new Uint8Array(Buffer.from(body)) })
    return ((await answer.json()) as { item_queue_id: string }).item_queue_id
  }
  const read = async (id: string) => {
    const answer = await fetch(`${base}/api/v1/imports/${id}?api_key=${user.masterToken}`)
    return (await answer.json()) as ImportDocument
  }
  const rows = Array.from({ length: 150_000 }, (_, at) => `${at % 180},${at % 90},text of row ${at}`).join(
    '\n',
  )
  const gpkg = made('GPKG', 'a.gpkg', places).get('a.gpkg')!
  for (const delayMs of [0, 300, 700]) {
    const victim = await start()
    const big = await post('big.csv', `lon,lat,c\n${rows}\n`)
    await eventually(async () => assert.notEqual((await read(big)).state, 'pending'), 30_000)
    await sleep(delayMs)
    await victim.end('SIGKILL')
    const small = await post('small.gpkg', gpkg)
    const heir = await start()
    for (const id of [big, small]) {
      const done = await eventually(async () => {
        const document = await read(id)
        assert.ok(document.success !== undefined, JSON.stringify(document))
        return document
      }, 60_000)
      assert.deepEqual([done.state, done.get_error_text], ['complete', null])
      const { rows: counted } = await user.sql(`select count(*)::int as rows from ${done.table_name}`)
      assert.deepEqual(counted, [{ rows: id === big ? 150_000 : 3 }])
    }
    // The end of an import is answered before its files are removed.
    const left = () => readdirSync(spool).filter((name) => name !== '.id')
    await eventually(async () => assert.deepEqual(left(), []))
    await heir.end('SIGKILL')
  }
  const { rows: tables } = await user.sql(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  )
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['big', 'big_1', 'big_2', 'small', 'small_1', 'small_2'],
  )
})
