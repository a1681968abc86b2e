import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, setup } from '../support/service/setup.ts'

test('requests that wait for jobs at both addresses of an account share one LISTEN connection', async (t) => {
  const { url, user, admin, service } = await setup(t, { isIsolated: true })
  const own = { headers: basic(user.username, user.masterToken) }
  const created = await fetch(`${user.base}/api/v2/sql/job`, {
    method: 'POST',
    headers: { ...own.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'select 1' }),
  })
  const { job_id: id } = (await created.json()) as { job_id: string }
  const waits = ['user', 'u'].map(async (prefix) => {
    const response = await fetch(`${url}/${prefix}/${user.username}/api/v2/sql/job/${id}?wait=30`, own)
    return ((await response.json()) as { status: string }).status
  })
  await fetch(`${user.base}/api/v2/sql/job/${id}`, { ...own, method: 'DELETE' })
  assert.deepEqual(await Promise.all(waits), ['cancelled', 'cancelled'])
  const { rows } = await admin(
    `select pid from pg_stat_activity
     where datname = $1 and (query = 'listen cartage_finished_jobs' or query like 'select j.id from unnest%')`,
    [service.services.config.namespace],
  )
  assert.equal(rows.length, 1)
})
