import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { keysClient } from '../support/keys/keys-client.ts'
import { setup } from '../support/service/setup.ts'

test('only cartage.tell notifies, and only while the notification queue has room', async (t) => {
  const { service, admin } = await setup(t)
  const { rows } = await admin(
    `select p.oid::regprocedure::text as name, p.prosrc as body from pg_proc p
     where p.pronamespace = 'cartage'::regnamespace and p.prosrc ~* 'notify'`,
    [],
    service.services.config.namespace,
  )
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['cartage.tell(text,text)'],
  )
  assert.match(rows[0].body, /pg_notification_queue_usage\(\) < 0\.5/)
  const root = fileURLToPath(new URL('../../src', import.meta.url))
  for (const file of await readdir(root, { recursive: true })) {
    if (!file.endsWith('.ts')) continue
    const text = await readFile(join(root, file), 'utf8')
    assert.doesNotMatch(text, /pg_notify\(|[`'"]notify [^ ]+[`'",]/i, file)
  }
})

test('while the notification queue is full, keys and jobs take longer and nothing fails', async (t) => {
  const { user, service, admin } = await setup(t, { worker: true })
  // As the function behaves with a full queue, which would take 8 GB.
  await admin(
    `create or replace function cartage.tell(channel text, message text) returns void language plpgsql as 'begin end'`,
    [],
    service.services.config.namespace,
  )
  const keys = keysClient(user)
  const { token } = await keys.make('one')
  const ask = (key: string) => fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${key}`)
  assert.equal((await ask(token)).status, 200)
  const { body } = await keys.regenerate('one')
  assert.deepEqual([(await ask(token)).status, (await ask(body.token)).status], [401, 200])
  assert.equal((await keys.remove('one')).status, 200)
  assert.equal((await ask(body.token)).status, 401)

  const jobs = `${user.base}/api/v2/sql/job`
  const created = await fetch(`${jobs}?api_key=${user.masterToken}`, {
    method: 'POST',
    body: JSON.stringify({ query: 'select 1' }),
    headers: { 'content-type': 'application/json' },
  })
  const { job_id: id } = (await created.json()) as { job_id: string }
  const ended = await fetch(`${jobs}/${id}?wait=30&api_key=${user.masterToken}`)
  assert.equal(((await ended.json()) as { status: string }).status, 'done')
})
