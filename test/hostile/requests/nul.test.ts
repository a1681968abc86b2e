import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basic, setup } from '../../support/service/setup.ts'

type Operation = { parameters?: { name: string; in: string }[]; requestBody?: object }
type Api = { paths: Record<string, Record<string, Operation>> }

test('a NUL anywhere in a path, a query or a body is a 400 on every route', async (t) => {
  const { user, url, keys } = await setup(t)
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Api
  const admin = { authorization: `Bearer ${keys.adminToken}` }
  const holder = basic(user.username, user.masterToken)
  let asked = 0
  for (const [path, operations] of Object.entries(paths)) {
    const places = [...path.matchAll(/\{(\w+)\}/g)].map(([place]) => place!)
    const fill = (hit?: string) =>
      url +
      places.reduce(
        (filled, place) =>
          filled.replace(place, place === hit ? 'x%00y' : place === '{name}' ? user.username : 'x'),
        path,
      )
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      if (method === 'delete' && path.startsWith('/admin')) continue
      const headers = path.startsWith('/admin') ? admin : holder
      const send = async (target: string, init: RequestInit = {}) => {
        asked += 1
        const response = await fetch(target, { method: method.toUpperCase(), headers, ...init })
        const text = await response.text()
        assert.equal(response.status, 400, `${method} ${target} ${String(init.body)}: ${text}`)
        // A page for people says it in other words.
        const isPage = response.headers.get('content-type')?.startsWith('text/html')
        if (method !== 'head' && !isPage) assert.match(text, /NUL/)
      }
      for (const place of places) await send(fill(place))
      const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name)
      for (const name of [...names, 'x']) await send(`${fill()}?${name}=a%00b`)
      // The body of these is a file.
      if (!requestBody || /copyfrom$|\/uploads\//.test(path)) continue
      for (const body of [{ q: 'select 1\0' }, { name: ['a', { b: '\0' }] }, { 'k\0': 1 }]) {
        const json = { ...headers, 'content-type': 'application/json' }
        await send(fill(), { headers: json, body: JSON.stringify(body) })
      }
    }
  }
  assert.ok(asked > 60, `${asked} requests`)
})

test('nor is a NUL accepted in a form, a multipart field, params or a credential', async (t) => {
  const { user, createOrganization } = await setup(t)
  const { name, owner } = await createOrganization()
  const sql = `${user.base}/api/v2/sql`
  const multipart = new FormData()
  multipart.set('q', 'select 1\0')
  for (const body of [new URLSearchParams({ q: 'select 1\0' }), multipart]) {
    assert.equal((await fetch(sql, { method: 'POST', body })).status, 400)
  }
  const bound = new URLSearchParams({
    q: 'select $1::text',
    params: '["\\u0000"]',
    api_key: user.masterToken,
  })
  assert.equal((await fetch(`${sql}?${bound}`)).status, 400)
  const base = owner.base.replace(owner.username, name)
  for (const [username, token] of [
    [`${owner.username}\0`, owner.masterToken],
    [owner.username, `${owner.masterToken}\0`],
  ] as const) {
    const { status } = await fetch(`${base}/api/v2/sql?q=select+1`, { headers: basic(username, token) })
    assert.equal(status, 401)
  }
})
