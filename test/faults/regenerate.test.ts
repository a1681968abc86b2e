import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { regenerateToken } from '../../src/keys/regenerate-token.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, eventually, randomName, setup } from '../support/service/setup.ts'

test('regenerating a token ends its requests in every process, whatever their application_name, and no job', async (t) => {
  const { admin } = await setup(t)
  const installation = await newInstallation(t)
  const first = await installation.start({ parts: { worker: true } })
  const second = await installation.start()
  const username = randomName('user')
  const { account, masterToken } = await createUser(first.services.installation, { username })
  const headers = { ...basic(username, masterToken), 'content-type': 'application/json' }
  await fetch(`${first.url}/user/${username}/api/v2/sql?q=create+sequence+runs`, { headers })
  const job = await fetch(`${first.url}/user/${username}/api/v2/sql/job`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query: `select nextval('runs'), pg_sleep(6)` }),
  })
  const { job_id: id } = (await job.json()) as { job_id: string }
  const disguise = `select set_config('application_name', 'cartage job', false), pg_sleep(20)`
  const request = fetch(`${second.url}/user/${username}/api/v2/sql`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ q: disguise }),
  })
  await eventually(async () => {
    const { rows } = await admin(
      `select from pg_stat_activity where usename = $1 and state = 'active' and application_name = 'cartage job'`,
      [account.masterRole],
    )
    assert.equal(rows.length, 2, 'the job and the request')
  })
  const { token } = await regenerateToken(first.services.installation, account, 'Master')
  assert.notEqual((await request).status, 200)
  const ended = await fetch(`${first.url}/user/${username}/api/v2/sql/job/${id}?wait=50`, {
    headers: basic(username, token),
  })
  assert.equal(((await ended.json()) as { status: string }).status, 'done')
  const { rows } = await admin('select last_value::integer from runs', [], account.database)
  assert.equal(rows[0].last_value, 1, 'it ran once')
})
