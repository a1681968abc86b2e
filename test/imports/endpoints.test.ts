import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { send } from '../support/keys/keys-client.ts'
import { basic, eventually, type TestUser } from '../support/service/setup.ts'

const csv = 'a,b\n1,x\n2,y\n'

test('the answer to an upload names the import, and its document has every member', async (t) => {
  const { post, wait, user } = await setupImports(t)
  const answer = await post('one.csv', csv)
  assert.equal(answer.status, 200)
  const body = (await answer.json()) as { item_queue_id: string }
  assert.deepEqual(body, { item_queue_id: body.item_queue_id, success: true })
  assert.equal(answer.headers.get('location'), `/user/${user.username}/api/v1/imports/${body.item_queue_id}`)
  const done = await wait(body.item_queue_id)
  assert.deepEqual(
    { ...done, created_at: '', updated_at: '' },
    {
      id: body.item_queue_id,
      item_queue_id: body.item_queue_id,
      queue_id: body.item_queue_id,
      user_id: user.username,
      table_id: 'one',
      table_name: 'one',
      table_names: ['one'],
      data_type: 'file',
      state: 'complete',
      error_code: null,
      tables_created_count: 1,
      synchronization_id: null,
      type_guessing: true,
      quoted_fields_guessing: true,
      content_guessing: false,
      create_visualization: false,
      visualization_id: null,
      user_defined_limits: '{}',
      get_error_text: null,
      display_name: 'one.csv',
      original_url: null,
      warnings: null,
      is_raster: false,
      created_at: '',
      updated_at: '',
      progress: { bytes_read: 12, bytes_total: 12, rows: 2, tables_done: 1, tables_total: 1 },
      success: true,
    },
  )
})

test('a request without a source becomes a failed import, takes no slot and is not listed', async (t) => {
  const { user, wait } = await setupImports(t)
  const url = `${user.base}/api/v1/imports?api_key=${user.masterToken}`
  for (let times = 0; times < 5; times++) {
    const answer = await fetch(url, { method: 'POST' })
    assert.equal(answer.status, 200)
    const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
    const failed = await wait(id)
    assert.equal(failed.state, 'failure')
    assert.equal(failed.success, false)
    assert.equal(failed.error_code, 1005)
  }
  assert.deepEqual(await (await fetch(`${url}&all=true`)).json(), { imports: [], success: true })
})

test('a raw body is a file named in the query, and parameters may be in the query', async (t) => {
  const { user, wait } = await setupImports(t)
  const url = `${user.base}/api/v1/imports?filename=raw.csv&table_name=Other%20Name&type_guessing=false&api_key=${user.masterToken}`
  const answer = await fetch(url, {
    method: 'POST',
    body: csv,
    headers: { 'content-type': 'application/octet-stream' },
  })
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  const done = await wait(id)
  assert.equal(done.table_name, 'other_name')
  assert.deepEqual((await user.sql('select a from other_name order by 1')).rows, [{ a: '1' }, { a: '2' }])
})

test('imports are listed newest first and are no jobs', async (t) => {
  const { user, load } = await setupImports(t)
  const first = await load('one.csv', csv)
  const second = await load('two.csv', csv)
  const at = (path: string) => fetch(`${user.base}/api/${path}api_key=${user.masterToken}`)
  assert.deepEqual(await (await at('v1/imports/?')).json(), { imports: [], success: true })
  assert.deepEqual(await (await at('v1/imports?all=true&')).json(), {
    imports: [second.id, first.id],
    success: true,
  })
  assert.equal((await at(`v2/sql/job/${first.id}?`)).status, 404)
  assert.equal(
    (await fetch(`${user.base}/api/v2/sql/job/${first.id}?api_key=${user.masterToken}`, { method: 'DELETE' }))
      .status,
    404,
  )
  assert.equal((await at('v1/imports/6c1c2f9e-3f8c-4b57-9c33-0f3f3f3f3f3f?')).status, 404)
  assert.equal((await at('v1/synchronizations?')).status, 404)
})

test('a bad parameter is refused with a sentence, in the form that clients read', async (t) => {
  const { post, nothingLeft } = await setupImports(t)
  const cases: [Record<string, string>, RegExp][] = [
    [
      { collision_strategy: 'replace' },
      /collision_strategy: it must be one of skip, overwrite, append, upsert/,
    ],
    [{ privacy: 'secret' }, /privacy: it must be one of public, link, private/],
    [{ type_guessing: 'maybe' }, /type_guessing: it must be true or false/],
    [{ sql: 'select 1' }, /exactly one/],
    [{ interval: '3600' }, /interval is not supported/],
    [{ connector: '{}' }, /connector is not supported/],
    [{ service_name: 'dropbox' }, /service_name is not supported/],
    [{ service_item_id: '1' }, /service_item_id is not supported/],
    [{ remote_visualization_id: '1' }, /remote_visualization_id is not supported/],
    [{ collision_strategy: 'upsert' }, /needs key/],
    [{ collision_strategy: 'upsert', key: `${'a,'.repeat(32)}a` }, /up to 32 columns/],
  ]
  for (const [fields, text] of cases) {
    const answer = await post('one.csv', csv, fields)
    assert.equal(answer.status, 400)
    const body = (await answer.json()) as { errors: { imports: string }; error: string[] }
    assert.match(body.errors.imports, text)
    assert.deepEqual(body.error, [body.errors.imports])
  }
  await nothingLeft()
})

test('the master key and keys with sql that may create tables can import', async (t) => {
  const house = await setupImports(t)
  const { user, nothingLeft } = house
  const other = await house.createUser()
  const schema = user.account.schema
  const database = (permissions: string[]) => ({ type: 'database', schemas: [{ name: schema, permissions }] })
  const maker = await createKey(user, 'maker', [{ type: 'apis', apis: ['sql'] }, database(['create'])])
  const reader = await createKey(user, 'reader', [{ type: 'apis', apis: ['sql'] }])
  const maps = await createKey(user, 'maps', [{ type: 'apis', apis: ['maps'] }, database(['create'])])
  const post = (token: string | undefined) =>
    fetch(`${user.base}/api/v1/imports?filename=k.csv${token === undefined ? '' : `&api_key=${token}`}`, {
      method: 'POST',
      body: csv,
    })
  assert.equal((await post(undefined)).status, 401)
  assert.equal((await post('wrong')).status, 401)
  assert.equal((await post(other.masterToken)).status, 401)
  assert.equal((await post('default_public')).status, 403)
  assert.equal((await post(reader)).status, 403)
  assert.equal((await post(maps)).status, 403)
  const answer = await post(maker)
  assert.equal(answer.status, 200)
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  const done = await house.wait(id)
  assert.equal(done.get_error_text, null)
  const { rows } = await user.sql(
    `select relowner::regrole::text <> current_user as is_keys from pg_class where relname = 'k'`,
  )
  assert.deepEqual(rows, [{ is_keys: true }])
  const at = (token: string) => fetch(`${user.base}/api/v1/imports/${id}?api_key=${token}`)
  assert.equal((await at(maker)).status, 200)
  assert.equal((await at(reader)).status, 404)
  assert.equal((await fetch(`${other.base}/api/v1/imports/${id}?api_key=${other.masterToken}`)).status, 404)
  await nothingLeft()
})

test('an import does not start if its key has expired by then', async (t) => {
  const { user, wait, nothingLeft } = await setupImports(t)
  const headers = basic(user.username, user.masterToken)
  const grants = [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas: [{ name: user.account.schema, permissions: ['create'] }] },
  ]
  const token = await createKey(user, 'maker', grants)
  const imports = `${user.base}/api/v1/imports`
  // A user's imports run one after another.
  const body = { sql: 'select pg_sleep(600)::text as a', table_name: 'endless' }
  const { body: first } = await send(imports, { method: 'POST', headers, body })
  const posted = await fetch(`${imports}?filename=late.csv&api_key=${token}`, {
    method: 'POST',
    body: csv,
  })
  assert.equal(posted.status, 200)
  const { item_queue_id: id } = (await posted.json()) as { item_queue_id: string }
  const expires_at = new Date(Date.now() + 1_000).toISOString()
  await send(`${user.base}/api/v4/keys/maker`, { method: 'PATCH', headers, body: { expires_at } })
  await eventually(async () =>
    assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${token}`)).status, 401),
  )
  await send(`${imports}/${first.item_queue_id}`, { method: 'DELETE', headers })
  const { state, get_error_text } = await wait(id)
  assert.equal(state, 'failure')
  assert.match(JSON.stringify(get_error_text), /was deleted, has expired or lost the SQL API/)
  assert.equal((await user.sql(`select to_regclass('late') as made`)).rows[0].made, null)
  await nothingLeft()
})

test('an import whose key is deleted while it loads stores nothing', async (t) => {
  const { user, wait, nothingLeft } = await setupImports(t)
  const headers = basic(user.username, user.masterToken)
  const database = {
    type: 'database',
    schemas: [{ name: user.account.schema, permissions: ['create'] }],
  }
  const ends = {
    expired: () => ({ method: 'PATCH', body: { expires_at: new Date(Date.now() + 1_000).toISOString() } }),
    narrowed: () => ({ method: 'PATCH', body: { grants: [{ type: 'apis', apis: ['maps'] }, database] } }),
    deleted: () => ({ method: 'DELETE' }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const token = await createKey(user, name, [{ type: 'apis', apis: ['sql'] }, database])
    const posted = await send(`${user.base}/api/v1/imports?api_key=${token}`, {
      method: 'POST',
      body: { sql: 'select pg_sleep(4)::text as a', table_name: name },
    })
    const id = String(posted.body.item_queue_id)
    const address = `${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`
    await eventually(async () => assert.equal((await send(address)).body.state, 'importing'))
    const path = end().method === 'DELETE' ? `api/v3/api_keys/${name}` : `api/v4/keys/${name}`
    assert.equal((await send(`${user.base}/${path}`, { headers, ...end() })).status, 200)
    const { state, get_error_text } = await wait(id)
    assert.equal(state, 'failure', name)
    assert.match(JSON.stringify(get_error_text), /was deleted, has expired or lost the SQL API/)
    const made = await user.sql('select to_regclass($1) as made', [name])
    assert.equal(made.rows[0].made, null, name)
  }
  await nothingLeft()
})

test('a file that is too large is refused while it arrives, and an upload that is cut leaves nothing', async (t) => {
  const { user, post, left, nothingLeft } = await setupImports(t, { importMaxBytes: 100_000 })
  const answer = await post('big.csv', 'a\n'.repeat(100_000))
  assert.equal(answer.status, 413)
  const cut = new AbortController()
  let isOver = false
  const endless = new ReadableStream({
    pull: async (controller) => {
      if (isOver) return controller.close()
      controller.enqueue(new TextEncoder().encode('a,b\n'))
      await new Promise((resolve) => setTimeout(resolve, 20))
    },
  })
  const sending = fetch(`${user.base}/api/v1/imports?filename=x.csv&api_key=${user.masterToken}`, {
    method: 'POST',
    body: endless,
    signal: cut.signal,
    duplex: 'half',
  } as RequestInit)
  await eventually(() => assert.equal(left().length, 1))
  cut.abort()
  isOver = true
  await assert.rejects(sending)
  await nothingLeft()
})

test('a repeated request with the same Idempotency-Key is the same import', async (t) => {
  const { user, wait, nothingLeft } = await setupImports(t)
  const post = (body: string) =>
    fetch(`${user.base}/api/v1/imports?filename=i.csv&api_key=${user.masterToken}`, {
      method: 'POST',
      body,
      headers: { 'idempotency-key': 'once' },
    })
  const first = (await (await post(csv)).json()) as { item_queue_id: string }
  await wait(first.item_queue_id)
  const again = await post(csv)
  assert.deepEqual(await again.json(), first)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.equal((await post(`${csv}3,z\n`)).status, 422)
  assert.deepEqual(
    (await user.sql(`select relname from pg_class where relname like 'i%' and relkind = 'r'`)).rows,
    [{ relname: 'i' }],
  )
  await nothingLeft()
})

async function createKey(user: TestUser, name: string, grants: readonly unknown[]): Promise<string> {
  const answer = await fetch(`${user.base}/api/v3/api_keys?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      grants: grants.length === 1 ? [...grants, { type: 'database', tables: [] }] : grants,
    }),
  })
  const body = (await answer.json()) as { token?: string }
  assert.equal(answer.status, 201, JSON.stringify(body))
  return body.token!
}
