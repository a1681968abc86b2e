import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type ImportHouse, setupImports } from '../support/imports/import-api.ts'
import { eventually } from '../support/service/setup.ts'

test('a cancel is answered after the converter has ended and its files are gone', async (t) => {
  const house = await setupImports(t)
  const features = Array.from({ length: 150_000 }, (_, at) => ({
    type: 'Feature',
    properties: { at, text: `feature ${at}` },
    geometry: { type: 'Point', coordinates: [at % 180, at % 90] },
  }))
  const answer = await house.post('slow.geojson', JSON.stringify({ type: 'FeatureCollection', features }))
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  await eventually(() => assert.equal(converters().length, 1))
  await cancel(house, id)
  assert.deepEqual(converters(), [])
  assert.ok(!house.left().includes(id))
})

test('a cancel is answered after the download of the file has stopped', async (t) => {
  const house = await setupImports(t, { importUrls: true })
  let open = 0
  const server = createServer((_, response) => {
    open++
    const timer = setInterval(() => response.write('a\n'), 50)
    response.on('close', () => {
      clearInterval(timer)
      open--
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { imports } = house.service.services
  imports.network = { resolve: imports.network.resolve, mayConnect: () => true }
  const { port } = server.address() as AddressInfo
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/endless.csv` })
  const address = `${house.user.base}/api/v1/imports?api_key=${house.user.masterToken}`
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(address, { method: 'POST', headers, body })
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  await eventually(() => assert.equal(open, 1))
  await eventually(async () => {
    const url = `${house.user.base}/api/v1/imports/${id}?api_key=${house.user.masterToken}`
    assert.equal(((await (await fetch(url)).json()) as { state: string }).state, 'uploading')
  })
  await cancel(house, id)
  assert.ok(!house.left().includes(id))
  await eventually(() => assert.equal(open, 0), 500)
})

test('a cancel of a waiting import is answered at once', async (t) => {
  const house = await setupImports(t, { importsPerWorker: 0 })
  const answer = await house.post('waiting.csv', 'a\n1\n')
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  const since = performance.now()
  await cancel(house, id)
  assert.ok(performance.now() - since < 5_000)
})

test('an import that is cancelled while it commits names no table', async (t) => {
  const house = await setupImports(t)
  const { user } = house
  await user.sql(`create table slow (a int);
    create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(60); return null; end';
    create constraint trigger wait after insert on slow deferrable initially deferred
      for each row execute function wait()`)
  const fields = { table_name: 'slow', collision_strategy: 'append' }
  const answer = await house.post('slow.csv', 'a\n1\n', fields)
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  await eventually(async () => {
    const sleeping = await user.sql(`select from pg_stat_activity where wait_event = 'PgSleep'`)
    assert.equal(sleeping.rows.length, 1)
  })
  await cancel(house, id)
  const { state, table_name, table_names } = await house.wait(id)
  assert.deepEqual([state, table_name, table_names], ['failure', null, []])
  assert.deepEqual((await user.sql('select * from slow')).rows, [])
})

async function cancel({ user }: ImportHouse, id: string): Promise<void> {
  const url = `${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`
  const answer = await fetch(url, { method: 'DELETE' })
  const document = (await answer.json()) as { state: string; error_code: number }
  assert.deepEqual([answer.status, document.state, document.error_code], [200, 'failure', 6672])
}

/** The GDAL processes that this process started. */
function converters(): string[] {
  const isOurs = (pid: string) => {
    try {
      const parent = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      return (
        parent === String(process.pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('ogr2ogr')
      )
    } catch {
      return false
    }
  }
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOurs(name))
}
