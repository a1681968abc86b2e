import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ask, post, readReply } from '../support/http/ask.ts'
import { basic, setup } from '../support/service/setup.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

test('GET and POST accept the same in JSON, form and multipart fields, the credential included', async (t) => {
  const { user } = await setup(t)
  const q = 'select 1 as a, current_user as role'
  const fields = { q, api_key: user.masterToken }
  const multipart = new FormData()
  for (const [name, value] of Object.entries(fields)) multipart.set(name, value)
  const replies = [
    await ask(user, q),
    await post(user, { headers: json, body: JSON.stringify(fields) }),
    await post(user, { body: new URLSearchParams(fields) }),
    await post(user, { body: multipart }),
    await post(user, { headers: basic(user.username, user.masterToken) }, `?q=${encodeURIComponent(q)}`),
    await readReply(await fetch(`${user.base}/api/v2/sql/?${new URLSearchParams(fields)}`)),
    await readReply(
      await fetch(`${user.base.replace('/user/', '/u/')}/api/v2/sql?${new URLSearchParams(fields)}`),
    ),
  ]
  for (const { status, body } of replies) {
    assert.equal(status, 200)
    assert.deepEqual(body.rows, [{ a: 1, role: user.account.masterRole }])
  }
})

test('a form is decoded leniently: a single % stays', async (t) => {
  const { user } = await setup(t)
  const body = `q=SELECT 'a' LIKE '%a%' as yes, '100%' as share, 'x%26y' as amp&api_key=${user.masterToken}`
  const reply = await post(user, { headers: form, body })
  assert.deepEqual(reply.body.rows, [{ yes: true, share: '100%', amp: 'x&y' }])
})

test('a missing or empty query is refused', async (t) => {
  const { user } = await setup(t)
  const replies = [
    await readReply(await fetch(`${user.base}/api/v2/sql?api_key=${user.masterToken}`)),
    await ask(user, ''),
    await ask(user, '  \n'),
    await post(user, { headers: json, body: '{}' }),
    await post(user, { headers: json }),
  ]
  for (const { status, body } of replies) {
    assert.equal(status, 400)
    assert.deepEqual(body.error, ['You must indicate a sql query'])
  }
})

test('a text of only a comment is a query without rows', async (t) => {
  const { user } = await setup(t)
  const { status, body } = await ask(user, '-- nothing')
  assert.equal(status, 200)
  assert.deepEqual([body.rows, body.fields, body.total_rows], [[], {}, 0])
})

test('a bad parameter is refused and named', async (t) => {
  const { user } = await setup(t)
  const bad: Record<string, string>[] = [
    { format: 'shp' },
    { rows_per_page: 'x' },
    { rows_per_page: '-1' },
    { rows_per_page: '1.5' },
    { page: '-1' },
    { page: 'one' },
    { sort_order: 'up' },
    { dp: '16' },
    { dp: 'two' },
  ]
  for (const parameters of bad) {
    const { status, body } = await ask(user, 'select 1', parameters)
    assert.equal(status, 400, JSON.stringify(parameters))
    assert.ok(body.error[0]!.includes(Object.keys(parameters)[0]!), body.error[0])
  }
  const nul = await ask(user, 'select 1 -- \0')
  assert.equal(nul.status, 400)
  assert.deepEqual(nul.body.error, ['The request must not contain NUL characters'])
  const notText = await post(user, { headers: json, body: JSON.stringify({ q: { a: 1 } }) })
  assert.equal(notText.status, 400)
  const list = await post(user, { headers: json, body: '["select 1"]' })
  assert.equal(list.status, 400)
})

test('two queries in one request are refused, wherever they are', async (t) => {
  const { user } = await setup(t)
  const multipart = new FormData()
  multipart.append('q', 'select 1')
  multipart.append('q', 'select 2')
  const replies = [
    await readReply(await fetch(`${user.base}/api/v2/sql?q=select+1&q=select+2`)),
    await post(user, { headers: form, body: 'q=select+1&q=select+2' }),
    await post(user, { headers: form, body: 'q=select+1' }, '?q=select+2'),
    await post(user, { body: multipart }),
  ]
  for (const { status, body } of replies) {
    assert.equal(status, 400)
    assert.deepEqual(body.error, ['The parameter q is given more than once'])
  }
})

test('compressed bodies, files and bodies that are too large are refused', async (t) => {
  const { user } = await setup(t, { config: { queryMaxBodyBytes: 20_000 } })
  const compressed = await post(user, {
    headers: { ...form, 'content-encoding': 'gzip' },
    body: gzipSync('q=select+1'),
  })
  assert.equal(compressed.status, 415)
  const file = new FormData()
  file.set('q', new Blob(['select 1']), 'query.sql')
  const refused = await post(user, { body: file })
  assert.deepEqual(
    [refused.status, refused.body.error],
    [400, ['Files are not accepted here: send the query as a field']],
  )
  const large = new FormData()
  large.set('q', `select '${'x'.repeat(20_000)}'`)
  assert.equal((await post(user, { body: large })).status, 413)
  const form2 = new URLSearchParams({ q: `select '${'x'.repeat(20_000)}'` })
  assert.equal((await post(user, { body: form2 })).status, 413)
  const fits = new URLSearchParams({ q: `select '${'x'.repeat(19_000)}' as x`, api_key: user.masterToken })
  assert.equal((await post(user, { body: fits })).status, 200)
})

test('a body of 15 MiB is accepted', async (t) => {
  const { user } = await setup(t)
  const body = new URLSearchParams({
    q: `select length('${'x'.repeat(15 * 1024 ** 2)}') as n`,
    api_key: user.masterToken,
  })
  const reply = await post(user, { body })
  assert.deepEqual(reply.body.rows, [{ n: 15 * 1024 ** 2 }])
})

test("errors have PostgreSQL's message, detail, hint, context and position", async (t) => {
  const { user } = await setup(t)
  const syntax = await ask(user, 'select 1 frm x y')
  assert.equal(syntax.status, 400)
  assert.deepEqual(syntax.body, {
    error: ['syntax error at or near "x"'],
    code: 'database',
    sqlstate: '42601',
    position: 14,
  })
  const raised = await ask(
    user,
    `do $$ begin raise exception 'no' using detail = 'because', hint = 'do not'; end $$`,
  )
  assert.equal(raised.status, 400)
  assert.deepEqual(raised.body.error, ['no'])
  assert.equal(raised.body.detail, 'because')
  assert.equal(raised.body.hint, 'do not')
  assert.match(raised.body.context!, /PL\/pgSQL function inline_code_block line 1 at RAISE/)
  const byHand = await ask(user, `do $$ begin raise exception 'mine' using errcode = '08006'; end $$`)
  assert.deepEqual([byHand.status, byHand.body.error], [400, ['mine']])
})

test('the position of an error refers to the text that was sent, also with paging', async (t) => {
  const { user } = await setup(t)
  const sql = '/* before */ select a, nothing from (values (1)) v(a);'
  const position = sql.indexOf('nothing') + 1
  const wrappings: Record<string, string>[] = [{}, { rows_per_page: '2' }, { format: 'geojson' }]
  for (const parameters of wrappings) {
    const { status, body } = await ask(user, sql, parameters)
    assert.deepEqual([status, body.position], [400, position])
  }
})

test('an error in what a parameter adds names the parameter, not SQL that was never sent', async (t) => {
  const { user } = await setup(t)
  const sql = "/* 😀 */ select 1 as name, '😀' as face"
  const { status, body } = await ask(user, sql, { order_by: 'nme' })
  assert.equal(status, 400)
  assert.deepEqual(body, {
    error: ['column "nme" does not exist'],
    code: 'database',
    sqlstate: '42703',
    hint: 'order_by must be the name of a column of the result',
  })
  const own = await ask(user, `${sql}, nothing`, { order_by: 'name' })
  assert.deepEqual([own.body.position, own.body.hint], [[...sql].length + 3, undefined])
  const geojson = await ask(user, 'select 1 as the_gem', { format: 'geojson' })
  assert.equal(geojson.body.position, undefined)
  assert.deepEqual(geojson.body.error, [
    'The format geojson needs a geometry column, such as the_geom: the result has only the_gem',
  ])
})

test("no credential is public, a wrong one is 401, another user's is 403", async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const anonymous = await ask(user, 'select current_user as me', { api_key: '' })
  assert.deepEqual(anonymous.body.rows, [{ me: user.account.publicRole }])
  const named = await ask(user, 'select current_user as me', { api_key: 'default_public' })
  assert.deepEqual(named.body.rows, [{ me: user.account.publicRole }])
  const wrong = await ask(user, 'select 1', { api_key: other.masterToken })
  assert.deepEqual([wrong.status, wrong.body.error], [401, ['Unauthorized']])
  assert.ok(wrong.headers.get('www-authenticate'))
  const mixed = await post(
    user,
    { headers: basic(other.username, user.masterToken), body: new URLSearchParams({ q: 'select 1' }) },
    '',
  )
  assert.deepEqual([mixed.status, mixed.body.error], [403, ['permission denied']])
  const unknown = await readReply(await fetch(`${user.base}-nobody/api/v2/sql?q=select+1`))
  assert.equal(unknown.status, 404)
})
