import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { basic, eventually, setup } from '../support/service/setup.ts'

test("every SQL error has a code of the closed list and PostgreSQL's SQLSTATE", async (t) => {
  const { url, user } = await setup(t)
  const known = await knownCodes()
  const sql = (q: string, more = '') =>
    `${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: user.masterToken })}${more}`
  const copyTo = (q: string) =>
    `${user.base}/api/v2/sql/copyto?${new URLSearchParams({ q, api_key: user.masterToken })}`
  for (const [target, code, sqlstate, init] of [
    [sql('select nothing'), 'database', '42703'],
    [sql(`do $$ begin raise 'x' using errcode = 'AB123'; end $$`), 'database', 'AB123'],
    [sql('select 1', '&format=none'), 'bad-request', undefined],
    [sql('copy t to stdout'), 'copy-elsewhere', undefined],
    [copyTo('copy nothing to stdout'), 'database', '42P01'],
    [copyTo('select 1'), 'copy-refused', undefined],
    [`${user.base}/api/v2/sql?q=select+1&api_key=wrong`, 'unauthorized', undefined],
    [`${user.base}/api/v2/sql/job/1`, 'permission-denied', undefined],
    [`${user.base}/api/v2/sql/job`, 'bad-request', undefined, json('{')],
    [`${user.base}/api/v2/sql/job`, 'body-too-large', undefined, json(' '.repeat(1_100_000))],
    [`${user.base}/api/v2/nowhere`, 'path-unknown', undefined],
    [`${url}/user/no-such-user/api/v2/sql?q=select+1`, 'user-unknown', undefined],
    [`${url}/user/%E0%A4%A/api/v2/sql`, 'bad-request', undefined],
  ] as const) {
    const response = await fetch(target, init)
    const body = (await response.json()) as Record<string, unknown>
    assert.ok(Array.isArray(body.error) && body.error.length === 1, target)
    assert.deepEqual([body.code, body.sqlstate], [code, sqlstate], `${target} ${JSON.stringify(body)}`)
    assert.ok(known.has(code), code)
  }
})

test('the error format of the key endpoints stays as clients compare it', async (t) => {
  const { user } = await setup(t)
  const headers = basic(user.username, user.masterToken)
  const response = await fetch(`${user.base}/api/v3/api_keys/none`, { headers })
  assert.deepEqual(await response.json(), { errors: 'API key not found: none', errors_cause: null })
})

test('the log has the code of a refusal, and no text that the caller may have written', async (t) => {
  const house = await setup(t)
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const { config } = house.service.services
  const service = await startService(config, house.keys, { http: true, worker: false }, log)
  t.after(() => service.stop())
  const base = `${service.url}/user/${house.user.username}`
  // A token that its owner chose looks like any word.
  const token = 'chosen by its owner'
  await fetch(`${base}/api/v2/sql?${new URLSearchParams({ q: `select "${token}"` })}`)
  await fetch(`${base}/api/v3/api_keys/${token}?api_key=${house.user.masterToken}`)
  const told = await eventually(() => {
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    assert.equal(requests.length, 2)
    return requests.map(({ code, sqlstate }) => ({ code, sqlstate }))
  })
  assert.deepEqual(told, [
    { code: 'database', sqlstate: '42703' },
    { code: 'key-not-found', sqlstate: undefined },
  ])
  assert.doesNotMatch(lines.join(''), /chosen by its owner/)
})

const json = (body: string) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body })

async function knownCodes(): Promise<ReadonlySet<string>> {
  const docs = await readFile('docs/errors.md', 'utf8')
  return new Set([...docs.matchAll(/^\| `([a-z-]+)`/gm)].map(([, code]) => code!))
}
