import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobSession } from '../../support/jobs/job-session.ts'
import { setup } from '../../support/service/setup.ts'

test('the lists of tables do not wait for a locked table', async (t) => {
  const house = await setup(t)
  const { user, url } = house
  await user.sql(`create table held as select generate_series(1, 1000) as a;
    create table free (a int); create view seen as select * from held`)
  const holder = await jobSession(t, house, user)
  await holder.query('begin; lock table held, free in access exclusive mode; create table unseen (a int)')
  for (const path of ['/api/v1/viz', '/api/v1/viz/held', '/api/v4/datasets']) {
    const answer = await inTime(`${user.base}${path}?api_key=${user.masterToken}`)
    assert.match(answer, /"held"/)
    assert.doesNotMatch(answer, /unseen/)
  }
  const list = JSON.parse(await inTime(`${user.base}/api/v1/viz/held?api_key=${user.masterToken}`))
  assert.ok(list.table.size > 30_000, JSON.stringify(list))
  await inTime(`${url}/api/v4/me?api_key=${user.masterToken}`)
  await inTime(`${user.base}/api/v3/api_keys?api_key=${user.masterToken}`)
})

async function inTime(address: string): Promise<string> {
  const response = await fetch(address, { signal: AbortSignal.timeout(5_000) })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}
