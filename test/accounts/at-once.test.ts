import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { basic, randomName, type Setup, setup } from '../support/service/setup.ts'

test('any number of users can be created and deleted concurrently, and other users are served meanwhile', async (t) => {
  const house = await setup(t)
  const names = Array.from({ length: 14 }, () => randomName('crowd'))
  const created = Promise.all(names.map((username) => call(house, 'POST', '/users', { username })))
  const statuses = await statusesUntil(house, created)
  const deleted = Promise.all(names.map((name) => call(house, 'DELETE', `/users/${name}`)))
  for (const status of await statusesUntil(house, deleted)) statuses.add(status)
  assert.deepEqual(new Set(await created), new Set([201]))
  assert.deepEqual(new Set(await deleted), new Set([200]))
  assert.deepEqual(statuses, new Set([404]))
})

/** Sends requests of another user that need the control database, one after another, until `isOver`. */
async function statusesUntil({ user }: Setup, end: Promise<unknown>): Promise<Set<number>> {
  const statuses = new Set<number>()
  let isOver = false
  const over = end.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const headers = basic(user.username, user.masterToken)
    statuses.add((await fetch(`${user.base}/api/v2/sql/job/${randomUUID()}`, { headers })).status)
  }
  await over
  return statuses
}

async function call({ url, keys }: Setup, method: string, path: string, body?: unknown): Promise<number> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keys.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return response.status
}
