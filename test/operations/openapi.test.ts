import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { fileFormats } from '../../src/contract/formats.ts'
import { operations } from '../../src/contract/operations.ts'
import { setup } from '../support/service/setup.ts'

test('the API description is valid OpenAPI 3.1', async (t) => {
  const document = await describe(t)
  assert.equal(document.openapi, '3.1.0')
  const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
  assert.equal(document.info.version, version)
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  assert.ok(valid, JSON.stringify(errors, null, 2))
})

test('every operation is described, and the client knows all of them', async (t) => {
  const document = await describe(t)
  const described = Object.fromEntries(
    allOperations(document).map(({ method, path, operation }) => [operation.operationId, [method, path]]),
  )
  assert.deepEqual(described, operations)
})

test('every operation has a purpose, authentication, answers and errors', async (t) => {
  const document = await describe(t)
  for (const { method, path, operation } of allOperations(document)) {
    const place = `${method} ${path}`
    assert.ok(operation.summary, `${place}: summary`)
    assert.ok(operation.security, `${place}: security`)
    const statuses = Object.keys(operation.responses)
    const isSocket = statuses.includes('101')
    assert.ok(isSocket || statuses.some((status) => status.startsWith('2')), `${place}: success`)
    // Errors on a WebSocket are sent as a frame.
    if (operation.tags[0] === 'operations' || isSocket) continue
    for (const status of ['401', '500', '503']) assert.ok(statuses.includes(status), `${place}: ${status}`)
  }
})

test('what clients have types for is a named schema, and every use of it a reference', async (t) => {
  const document = await describe(t)
  const text = JSON.stringify(document.paths) + JSON.stringify(document.components)
  for (const name of [
    'Job',
    'JobItem',
    'Key',
    'Grant',
    'Error',
    'KeyError',
    'User',
    'Organization',
    'Host',
    'Check',
    'AuditRecord',
    'Activity',
    'Table',
  ]) {
    assert.ok(document.components.schemas[name], name)
    assert.ok(text.includes(`{"$ref":"#/components/schemas/${name}"}`), name)
    assert.equal(
      text.split(`"title":"${name}"`).length,
      2 - Number(['Error', 'KeyError'].includes(name)),
      name,
    )
  }
})

test('parameters have their allowed values', async (t) => {
  const { paths } = await describe(t)
  const byGet = paths['/user/{name}/api/v2/sql']!.get!
  const of = (name: string) => byGet.parameters!.find((each) => each.name === name)!
  assert.equal(of('q').required, true)
  assert.deepEqual(of('format').schema.enum, ['json', 'geojson', 'csv', 'ndjson', ...fileFormats])
  assert.deepEqual(of('sort_order').schema.enum, ['asc', 'desc'])
  assert.equal(of('params').schema.type, 'string')
  for (const name of ['page', 'rows_per_page', 'dp']) assert.equal(of(name).schema.type, 'integer', name)
  const [download] = Object.values(paths['/user/{name}/api/v2/sql/copyto']!)
  assert.equal(download!.parameters!.find(({ name }) => name === 'q')!.required, true)
  const [upload] = Object.values(paths['/user/{name}/api/v2/sql/copyfrom']!)
  assert.equal(upload!.parameters!.find(({ name }) => name === 'sql_bytes')!.schema.type, 'integer')
})

test('the reference at /docs can be read and tried without any other host', async (t) => {
  const { url } = await setup(t)
  const page = await fetch(`${url}/docs`)
  assert.equal(page.status, 200)
  const html = await page.text()
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => new URL(file!, page.url))
  assert.ok(files.length > 3)
  assert.match(html, /<title>Cartage API<\/title>/)
  const initializer = await (
    await fetch(files.find(({ pathname }) => pathname.includes('initializer'))!)
  ).text()
  const [, logo = ''] = /data:image\/svg\+xml;base64,([\w+/=]+)/.exec(initializer) ?? []
  assert.match(Buffer.from(logo, 'base64').toString(), />Cartage API<\/text>/)
  assert.doesNotMatch(html, /favicon-\d+x/, 'the icon is that of Cartage')
  for (const file of files) {
    assert.equal(file.origin, new URL(url).origin)
    assert.equal((await fetch(file)).status, 200, file.pathname)
  }
  assert.match(page.headers.get('content-security-policy') ?? '', /connect-src 'self'/)
  assert.equal((await fetch(`${url}/docs/json`)).status, 200)
  assert.equal(
    (await fetch(`${url}/docs`, { method: 'HEAD' })).headers.get('x-content-type-options'),
    'nosniff',
  )
  const missing = await fetch(`${url}/docs/nothing`)
  assert.equal(missing.status, 404)
  assert.ok(Array.isArray(((await missing.json()) as { error: unknown }).error))
})

type Operation = {
  operationId: string
  summary?: string
  tags: string[]
  security?: unknown
  parameters?: { name: string; required?: boolean; schema: { type?: string; enum?: string[] } }[]
  responses: Record<string, unknown>
}
type Document = {
  openapi: string
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown> }
}

async function describe(t: Parameters<typeof setup>[0]): Promise<Document> {
  const { url } = await setup(t)
  const response = await fetch(`${url}/openapi.json`)
  assert.equal(response.status, 200)
  return (await response.json()) as Document
}

function allOperations(document: Document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}
