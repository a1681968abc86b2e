import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, randomName } from '../support/service/setup.ts'

test('a request that waits for a job at another process sees its end although no notification arrives', async (t) => {
  const installation = await newInstallation(t)
  const first = await installation.start({ parts: { worker: true } })
  const second = await installation.start()
  await first.services.databases.control.query(
    `create or replace function cartage.tell(channel text, message text) returns void
     language plpgsql as 'begin end'`,
  )
  const username = randomName('user')
  const { masterToken } = await createUser(first.services.installation, { username })
  const headers = { ...basic(username, masterToken), 'content-type': 'application/json' }
  const submitted = await fetch(`${first.url}/user/${username}/api/v2/sql/job`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query: 'select pg_sleep(1)' }),
  })
  const { job_id: id } = (await submitted.json()) as { job_id: string }
  const begun = performance.now()
  const ended = await fetch(`${second.url}/user/${username}/api/v2/sql/job/${id}?wait=50`, { headers })
  assert.equal(((await ended.json()) as { status: string }).status, 'done')
  assert.ok(performance.now() - begun < 25_000)
})
