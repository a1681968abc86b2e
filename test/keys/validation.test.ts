import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { grantsOf, keyRolesOf, keysClient, send } from '../support/keys/keys-client.ts'
import { basic, setup } from '../support/service/setup.ts'

const apis = { type: 'apis', apis: ['sql'] }
const table = (permissions: unknown, name: unknown = 't') => ({ schema: 'public', name, permissions })
const database = (more: object) => ({ type: 'database', ...more })

const mistakes: [name: unknown, grants: unknown, text: string][] = [
  ['', [apis], "Name can't be blank"],
  ['  \t ', [apis], "Name can't be blank"],
  [undefined, [apis], "Name can't be blank"],
  [null, [apis], "Name can't be blank"],
  [1, [apis], 'Name has to be a string'],
  [['k'], [apis], 'Name has to be a string'],
  ['taken', [apis], 'Name has already been taken'],
  ['Master', [apis], 'Name api_key name cannot be Master nor Default public'],
  ['Default public', [apis], 'Name api_key name cannot be Master nor Default public'],
  ['x'.repeat(256), [apis], 'Name is too long (maximum is 255 characters)'],
  ['a\nb', [apis], 'Name can only contain printable characters'],
  ['a\ud800b', [apis], 'Name can only contain printable characters'],
  ['k', undefined, 'Grants grants has to be an array'],
  ['k', null, 'Grants grants has to be an array'],
  ['k', {}, 'Grants grants has to be an array'],
  ['k', 'sql', 'Grants grants has to be an array'],
  ['k', [], 'Grants only one apis section is allowed'],
  ['k', [database({})], 'Grants only one apis section is allowed'],
  ['k', [apis, apis], 'Grants only one apis section is allowed'],
  ['k', [apis, database({}), database({})], 'Grants only one database section is allowed'],
  [
    'k',
    [apis, { type: 'dataservices', services: [] }, { type: 'dataservices', services: [] }],
    'Grants only one dataservices section is allowed',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 'nope')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table([], 'nope')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 'T')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], '')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 'a\u0001')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], '\udfff')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 'x'.repeat(100_000))] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 'spatial_ref_sys')] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [{ schema: 'nowhere', name: 't', permissions: ['select'] }] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [{ schema: 'pg_catalog', name: 'pg_class', permissions: ['select'] }] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [{ schema: 'cartage', name: 'roles', permissions: ['select'] }] })],
    'Grants can only grant table permissions you have',
  ],
  [
    'k',
    [
      apis,
      database({
        tables: [table(['select']), table(['select'], 'nope')],
        schemas: [{ name: 'nope', permissions: ['create'] }],
      }),
    ],
    'Grants can only grant table permissions you have, Grants can only grant schema permissions you have',
  ],
  [
    'k',
    [apis, database({ schemas: [{ name: 'cartodb', permissions: ['create'] }] })],
    'Grants can only grant schema permissions you have',
  ],
  [
    'k',
    [apis, database({ schemas: [{ name: 'pg_catalog', permissions: ['create'] }] })],
    'Grants can only grant schema permissions you have',
  ],
  [
    'k',
    [apis, database({ schemas: [{ name: 'a\u0001', permissions: ['create'] }] })],
    'Grants can only grant schema permissions you have',
  ],
  [
    'k',
    [apis, database({ tables: [table(['read'])] })],
    `Grants The property '#/1/tables/0/permissions/0' value "read" did not match one of the following values: insert, select, update, delete`,
  ],
  [
    'k',
    [apis, database({ schemas: [{ name: 'public', permissions: ['usage'] }] })],
    `Grants The property '#/1/schemas/0/permissions/0' value "usage" did not match one of the following values: create`,
  ],
  [
    'k',
    [{ type: 'apis', apis: ['sql', 'import'] }],
    `Grants The property '#/0/apis/1' value "import" did not match one of the following values: sql, maps`,
  ],
  [
    'k',
    [apis, { type: 'dataservices', services: ['weather'] }],
    `Grants The property '#/1/services/0' value "weather" did not match one of the following values: geocoding, routing, isolines, observatory`,
  ],
  [
    'k',
    [apis, { type: 'files' }],
    `Grants The property '#/1/type' value "files" did not match one of the following values: apis, database, dataservices`,
  ],
  ['k', [apis, {}], "Grants The property '#/1' did not contain a required property of 'type'"],
  ['k', [apis, 1], "Grants The property '#/1' of type number did not match the following type: object"],
  ['k', [apis, null], "Grants The property '#/1' of type null did not match the following type: object"],
  ['k', [apis, [apis]], "Grants The property '#/1' of type array did not match the following type: object"],
  [
    'k',
    [apis, { type: 1 }],
    "Grants The property '#/1/type' of type number did not match the following type: string",
  ],
  [
    'k',
    [{ type: 'apis', apis: 'sql' }],
    "Grants The property '#/0/apis' of type string did not match the following type: array",
  ],
  ['k', [{ type: 'apis' }], "Grants The property '#/0' did not contain a required property of 'apis'"],
  [
    'k',
    [apis, database({ tables: {} })],
    "Grants The property '#/1/tables' of type object did not match the following type: array",
  ],
  [
    'k',
    [apis, database({ tables: [{ name: 't', permissions: [] }] })],
    "Grants The property '#/1/tables/0' did not contain a required property of 'schema'",
  ],
  [
    'k',
    [apis, database({ tables: [{ schema: 'public', name: 't' }] })],
    "Grants The property '#/1/tables/0' did not contain a required property of 'permissions'",
  ],
  [
    'k',
    [apis, database({ tables: [table(['select'], 7)] })],
    "Grants The property '#/1/tables/0/name' of type number did not match the following type: string",
  ],
  [
    'k',
    [apis, database({ table_metadata: true })],
    "Grants The property '#/1/table_metadata' of type boolean did not match the following type: array",
  ],
  [
    'k',
    [apis, database({ views: [] })],
    `Grants The property '#/1' contains additional properties ["views"] outside of the schema when none are allowed`,
  ],
  [
    'k',
    [{ ...apis, tables: [] }],
    `Grants The property '#/0' contains additional properties ["tables"] outside of the schema when none are allowed`,
  ],
  ['', 'x', "Name can't be blank, Grants grants has to be an array"],
  ['', [], "Name can't be blank, Grants only one apis section is allowed"],
]

test('each mistake in a request has its own text, after "Validation failed: "', async (t) => {
  const context = await setup(t)
  const { user, createOrganization, createUser } = context
  await user.sql('create table t (id int); create schema other')
  const keys = keysClient(user)
  await keys.make('taken')
  const { owner } = await createOrganization()
  await createUser({ organization: owner.account.organization!.name })
  for (const [name, grants, text] of mistakes) {
    const { status, body } = await keys.create(name, grants)
    assert.deepEqual(
      { status, body },
      { status: 422, body: { errors: `Validation failed: ${text}`, errors_cause: null } },
    )
  }
  assert.equal((await keys.list()).body.total, 3)
  assert.equal((await keyRolesOf(context, user)).length, 1)
})

test("a key cannot be granted another user's schema, nor a table beyond what was shared of it", async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name: organization, owner } = await createOrganization()
  const member = await createUser({ organization })
  await owner.sql(`create table mine (id int); create table hidden (id int);
    grant usage, create on schema "${owner.username}" to "${member.account.masterRole}";
    grant select on mine to "${member.account.masterRole}"`)
  const wish = (section: object) => keysClient(member).create('k', [apis, database(section)])
  for (const [name, permissions] of [
    ['mine', ['select', 'insert']],
    ['mine', ['delete']],
    ['hidden', ['select']],
    ['hidden', []],
    ['unknown', []],
  ] as const) {
    const { status, body } = await wish({ tables: [{ schema: owner.username, name, permissions }] })
    assert.equal(status, 422, name)
    assert.equal(body.errors, 'Validation failed: Grants can only grant table permissions you have')
  }
  const ofSchema = await wish({ schemas: [{ name: owner.username, permissions: ['create'] }] })
  assert.equal(ofSchema.body.errors, 'Validation failed: Grants can only grant schema permissions you have')
})

test("an unknown member in a key's body is refused", async (t) => {
  const { user } = await setup(t)
  const { status, body } = await keysClient(user).call('POST', '', { name: 'k', grants: [apis], owner: 'me' })
  assert.equal(status, 422)
  assert.match(String(body.errors), /additional properties \["owner"\]/)
})

test('no malformed body gives a 500 or leaves anything behind', async (t) => {
  const context = await setup(t)
  const { user } = context
  const headers = basic(user.username, user.masterToken)
  const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const json = (name: string, grants: string) => `{"name":${name},"grants":${grants}}`
  const bodies: [body: string | Uint8Array, status: number][] = [
    ['', 422],
    ['null', 422],
    ['[]', 422],
    ['"text"', 422],
    ['7', 422],
    ['{', 400],
    ['{"name":"k"', 400],
    ['{"name":"k",}', 400],
    [new Uint8Array([0xff, 0xfe, 0x7b, 0x7d]), 400],
    [
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('","grants":[]}')]),
      400,
    ],
    ['{"__proto__":{"name":"k"},"name":"k","grants":[]}', 400],
    ['{"constructor":{"prototype":{"x":1}},"name":"k","grants":[]}', 400],
    [json('"k"', '[{"type":"apis","apis":["sql"],"__proto__":{"x":1}}]'), 400],
    [json('"k"', '[{"type":"__proto__"}]'), 422],
    [json('"k"', '[{"type":"toString"}]'), 422],
    [json('"k"', '[{"type":"apis","apis":["sql"],"hasOwnProperty":1}]'), 422],
    [json('"k"', deep(100_000)), 422],
    [json('"k"', `[{"type":"apis","apis":${deep(100_000)}}]`), 422],
    [json(deep(50_000), '[]'), 422],
    [json('"k"', `[${'1,'.repeat(200_000)}1]`), 422],
    [json('"k"', `[${'{},'.repeat(150_000)}{}]`), 422],
    [json('"k"', '[{"type":"apis","apis":[1e999]}]'), 422],
    [json('"\\u0000"', '[{"type":"apis","apis":[]}]'), 400],
    [json('"\\ud800"', '[{"type":"apis","apis":[]}]'), 422],
    [json('"k"', `[{"type":"apis","apis":["${'x'.repeat(500_000)}"]}]`), 422],
    [`{"name":"${'x'.repeat(1024 ** 2)}","grants":[]}`, 413],
  ]
  for (const [body, status] of bodies) {
    const answer = await send(`${user.base}/api/v3/api_keys`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const what = Buffer.from(body).subarray(0, 80).toString('latin1')
    assert.equal(answer.status, status, what)
    assert.equal(typeof answer.body.errors, 'string', what)
    assert.ok(String(answer.body.errors).length < 5_000, what)
  }
  assert.equal((await keysClient(user).list()).body.total, 2)
  assert.deepEqual(await keyRolesOf(context, user), [])
})

test('other kinds of bodies are read or refused', async (t) => {
  const { user } = await setup(t)
  const post = (type: string, body: string, more: Record<string, string> = {}) =>
    send(`${user.base}/api/v3/api_keys`, {
      method: 'POST',
      headers: { ...basic(user.username, user.masterToken), 'content-type': type, ...more },
      body,
    })
  const form = await post('application/x-www-form-urlencoded', 'name=k&grants=%5B%5D&x=%ff%')
  assert.equal(form.status, 422)
  assert.match(String(form.body.errors), /Grants grants has to be an array/)
  assert.equal((await post('text/plain', 'hello')).status, 415)
  assert.equal((await post('application/json', '{}', { 'content-encoding': 'gzip' })).status, 415)
})

test('no malformed path or parameter gives a 500', async (t) => {
  const { user, url } = await setup(t)
  const headers = basic(user.username, user.masterToken).authorization
  const base = `/user/${user.username}/api/v3/api_keys`
  const cases: [target: string, status: number][] = [
    [`${base}/%`, 400],
    [`${base}/%zz`, 400],
    [`${base}/%ff`, 400],
    [`${base}/%c3%28`, 400],
    [`${base}/%ed%a0%80`, 400],
    [`${base}/%00`, 400],
    [`${base}/k%00`, 400],
    [`${base}/%2e%2e`, 404],
    [`${base}/..`, 404],
    [`${base}/${'x'.repeat(3_900)}`, 404],
    [`${base}/a/b`, 404],
    [`${base}?target_user=%00`, 400],
    [`${base}?target_user=a&target_user=b`, 400],
    [`${base}?page=%ff`, 400],
    [`${base}?page=%`, 400],
    [`${base}?__proto__=1&constructor=2`, 200],
    [`${base}?api_key=${'x'.repeat(5_000)}`, 200],
    [`${base}?per_page=${'9'.repeat(5_000)}`, 400],
  ]
  for (const [target, status] of cases) {
    const answer = await rawRequest(url, `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers}\r\n`)
    assert.equal(answer.status, status, target.slice(0, 100))
    if (status !== 200) assert.match(answer.text, /"errors":"[^"]/, target.slice(0, 100))
  }
  for (const name of ['%00', '%', 'a%00b', '%ff']) {
    const answer = await rawRequest(url, `GET /user/${name}/api/v3/api_keys HTTP/1.1\r\nHost: x\r\n`)
    assert.ok(answer.status >= 400 && answer.status < 500, `${name} ${answer.status}`)
  }
})

test('a body may contain the credential, which is never shown', async (t) => {
  const { user } = await setup(t)
  const body = { name: 'k', grants: [apis], api_key: user.masterToken }
  const answer = await send(`${user.base}/api/v3/api_keys`, { method: 'POST', body })
  assert.equal(answer.status, 201)
  assert.ok(!JSON.stringify(answer.body).includes(user.masterToken))
  const wrong = await send(`${user.base}/api/v3/api_keys`, { method: 'POST', body: { ...body, api_key: 7 } })
  assert.equal(wrong.status, 401)
})

test('a refused creation leaves neither key nor role behind', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table t (id int)')
  const refused = await keysClient(user).create('k', [
    apis,
    database({ tables: [table(['select']), table(['select'], 'nope')] }),
  ])
  assert.equal(refused.status, 422)
  assert.equal((await keysClient(user).read('k')).status, 404)
  assert.deepEqual(await keyRolesOf(context, user), [])
  assert.equal((await keysClient(user).create('k', grantsOf({ t: ['select'] }))).status, 201)
})

/** Sends a request whose target no URL parser has normalised. */
function rawRequest(url: string, head: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      resolve({ status: Number(text.split(' ', 2)[1]), text })
    })
    socket.write(`${head}Connection: close\r\n\r\n`)
  })
}
