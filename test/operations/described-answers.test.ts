import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type OperationId, operations, pathOf } from '../../src/contract/operations.ts'
import { basic, type Setup, setup } from '../support/service/setup.ts'

type Schema = { properties?: Record<string, unknown>; anyOf?: Schema[]; $ref?: string }
type Answer = { $ref?: string; content?: Record<string, { schema: Schema }> }
type Document = {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>
  components: { responses: Record<string, Answer>; schemas: Record<string, Schema> }
}
type Call = Readonly<{
  parameters?: Record<string, string>
  query?: Record<string, string>
  json?: unknown
  body?: string
  headers?: Record<string, string>
}>

test('every answer is as described: status, type and all members', async (t) => {
  const bundle = await setup(t, {
    worker: true,
    config: { rateLimitKeys: { count: 6, seconds: 9999, burst: 6 } },
  })
  const ask = asker(bundle, (await (await fetch(`${bundle.url}/openapi.json`)).json()) as Document)
  const { username: name, masterToken, sql } = bundle.user
  const admin = { authorization: `Bearer ${bundle.keys.adminToken}` }
  await sql('create table t (n int)')

  await askForKeys(ask, name)
  await askForJobs(ask, name)
  await askForData(ask, name)
  await askForTables(ask, name, masterToken)
  await askForAccounts(ask, name, admin)
  await askForInstallation(ask, name, admin)
  await ask('isAlive', 200, {})
  await ask('isReady', 200, {})
  await ask('readMetrics', 200, {})
})

type Ask = ReturnType<typeof asker>
type Headers = Record<string, string>

async function askForKeys(ask: Ask, name: string): Promise<void> {
  const grants = [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables: [{ schema: 'public', name: 't', permissions: ['select'] }] },
  ]
  await ask('createKey', 201, { parameters: { name }, json: { name: 'k', grants } })
  await ask('createKey', 422, { parameters: { name }, json: { name: 'k', grants } })
  await ask('listKeys', 200, { parameters: { name } })
  await ask('readKey', 200, { parameters: { name, key: 'k' } })
  await ask('readKey', 404, { parameters: { name, key: 'none' } })
  await ask('listKeys', 401, { parameters: { name }, headers: basic(name, 'wrong') })
  await ask('regenerateToken', 200, { parameters: { name, key: 'k' } })
  await ask('deleteKey', 429, { parameters: { name, key: 'k' } })
}

async function askForJobs(ask: Ask, name: string): Promise<void> {
  const job = await ask('createJob', 201, { parameters: { name }, json: { query: 'select 1' } })
  const chain = {
    query: [{ query: 'select 1/0', onerror: 'select 2', timeout: 1000 }, 'select 3'],
    onerror: 'select 4',
  }
  const failing = await ask('createJob', 201, { parameters: { name }, json: { query: chain } })
  for (const { job_id } of [job, failing]) {
    await ask('readJob', 200, { parameters: { name, jobId: String(job_id) }, query: { wait: '30' } })
  }
  await ask('createJob', 400, { parameters: { name }, json: { query: '' } })
  await ask('createJob', 403, { parameters: { name }, json: { query: 'select 1' }, headers: {} })
  await ask('cancelJob', 400, { parameters: { name, jobId: String(failing.job_id) } })
  await ask('readJob', 404, { parameters: { name, jobId: 'none' } })
}

async function askForData(ask: Ask, name: string): Promise<void> {
  await ask('copyFrom', 200, { parameters: { name }, query: { q: 'copy t from stdin' }, body: '1\n' })
  await ask('copyFrom', 400, { parameters: { name }, query: { q: 'copy t from stdin' }, body: 'x\n' })
  await ask('copyTo', 200, { parameters: { name }, query: { q: 'copy t to stdout csv' } })
  await ask('copyToByPost', 400, { parameters: { name }, json: { q: 'select 1' } })
  await ask('query', 200, { parameters: { name }, json: { q: 'select n, null::date as d from t' } })
  await ask('queryByGet', 200, { parameters: { name }, query: { q: 'select 1 as n', format: 'csv' } })
  const place = "select 'SRID=4326;POINT(1 2)'::geometry as the_geom"
  await ask('queryByGet', 200, { parameters: { name }, query: { q: place, format: 'geojson' } })
  await ask('queryByGet', 400, { parameters: { name }, query: { q: 'select x from none' } })
  await ask('query', 404, { parameters: { name: 'nobody' }, json: { q: 'select 1' } })
}

async function askForTables(ask: Ask, name: string, masterToken: string): Promise<void> {
  await ask('listTables', 200, { parameters: { name } })
  await ask('readTable', 200, { parameters: { name, table: 't' } })
  await ask('changePrivacy', 200, { parameters: { name, table: 't' }, json: { privacy: 'PUBLIC' } })
  await ask('readTableDetails', 200, { parameters: { name, table: 't' } })
  await ask('readTable', 404, { parameters: { name, table: 'none' } })
  await ask('deleteTable', 404, { parameters: { name, table: 'none' } })
  await ask('listDatasets', 200, { parameters: { name } })
  await ask('readOwnActivity', 200, { parameters: { name } })
  const told = { id: randomUUID(), text: 'select 1', outcome: 'done', ms: 1, rows: 1 }
  await ask('tellHistory', 200, { parameters: { name }, json: told })
  await ask('listHistory', 200, { parameters: { name } })
  await ask('readUsage', 200, { parameters: { name } })
  await ask('whoAmI', 200, { query: { api_key: masterToken }, headers: {} })
  await ask('whoAmIByV3', 401, { headers: {} })
}

async function askForAccounts(ask: Ask, name: string, admin: Headers): Promise<void> {
  const username = `${name}-2`
  await ask('createUser', 201, { json: { username }, headers: admin })
  await ask('createUser', 409, { json: { username }, headers: admin })
  await ask('listUserKeys', 200, { parameters: { username }, headers: admin })
  await ask('readMasterKey', 200, { parameters: { username }, headers: admin })
  await ask('regenerateMasterKey', 200, { parameters: { username }, headers: admin })
  await ask('regenerateMasterKey', 200, {
    parameters: { username },
    json: { all_keys: true },
    headers: admin,
  })
  await ask('suspendUser', 200, { parameters: { username }, json: { reason: 'why' }, headers: admin })
  await ask('suspendUser', 422, { parameters: { username }, json: {}, headers: admin })
  await ask('resumeUser', 200, { parameters: { username }, headers: admin })
  await ask('moveUser', 422, { parameters: { username }, json: { host: 'local' }, headers: admin })
  await ask('createUser', 422, { json: { username: 'No' }, headers: admin })
  await ask('listUsers', 200, { headers: admin })
  await ask('readUser', 200, { parameters: { username }, headers: admin })
  await ask('changeUser', 200, { parameters: { username }, json: { quota_in_bytes: 5 }, headers: admin })
  const plan = `plan-${name}`
  await ask('createPlan', 201, { json: { name: plan, limits: { connections: 4 } }, headers: admin })
  await ask('createPlan', 409, { json: { name: plan }, headers: admin })
  await ask('createPlan', 422, { json: { name: plan, limits: { speed: 1 } }, headers: admin })
  await ask('listPlans', 200, { headers: admin })
  await ask('changePlan', 200, { parameters: { plan }, json: { limits: { connections: 5 } }, headers: admin })
  await ask('readPlan', 200, { parameters: { plan }, headers: admin })
  await ask('deletePlan', 200, { parameters: { plan }, headers: admin })
  await ask('readPlan', 404, { parameters: { plan }, headers: admin })
  await ask('deleteUser', 200, { parameters: { username }, headers: admin })
  await ask('deleteUser', 404, { parameters: { username }, headers: admin })
  await ask('listUsers', 401, { headers: {} })
  const organization = `${name}-org`
  await ask('createOrganization', 201, { json: { name: organization, owner: { username } }, headers: admin })
  await ask('listOrganizations', 200, { headers: admin })
  await ask('readOrganization', 200, { parameters: { organization }, headers: admin })
  const toNowhere = { parameters: { organization }, json: { host: 'local' }, headers: admin }
  await ask('moveOrganization', 422, toNowhere)
  await ask('deleteOrganization', 200, { parameters: { organization }, headers: admin })
}

async function askForInstallation(ask: Ask, name: string, admin: Headers): Promise<void> {
  await ask('listHosts', 200, { headers: admin })
  const parameters = { host: 'local' }
  await ask('addHost', 422, { json: { name: 'local' }, headers: admin })
  await ask('removeHost', 422, { parameters, headers: admin })
  await ask('changeHost', 200, { parameters, json: { accepts_users: true }, headers: admin })
  await ask('changeHost', 422, { parameters, json: {}, headers: admin })
  await ask('listReplicas', 200, { parameters, headers: admin })
  await ask('addReplica', 422, { parameters, json: { name: 'east' }, headers: admin })
  await ask('removeReplica', 404, { parameters: { ...parameters, replica: 'east' }, headers: admin })
  await ask('drainHost', 422, { parameters: { host: 'nowhere' }, json: {}, headers: admin })
  await ask('listMoves', 200, { headers: admin })
  await ask('readMove', 404, { parameters: { move: '1' }, headers: admin })
  await ask('cancelMove', 404, { parameters: { move: '1' }, headers: admin })
  await ask('listBackups', 404, { headers: admin })
  await ask('createRestore', 422, { json: { file: 'none.tar' }, headers: admin })
  await ask('listRestores', 200, { headers: admin })
  await ask('readRestore', 404, { parameters: { restore: '1' }, headers: admin })
  await ask('cancelRestore', 404, { parameters: { restore: '1' }, headers: admin })
  await ask('runDoctor', 200, { headers: admin })
  await ask('listAudit', 200, { query: { account: name, limit: '2' }, headers: admin })
  await ask('listAudit', 400, { query: { limit: '0' }, headers: admin })
  await ask('readActivity', 200, { headers: admin })
  await ask('readUserUsage', 200, { parameters: { username: name }, headers: admin })
  await ask('readUserUsage', 400, { parameters: { username: name }, query: { by: 'year' }, headers: admin })
  await ask('stopActivity', 404, { parameters: { id: 'none-1' }, headers: admin })
  await ask('stopUserActivity', 200, { parameters: { username: name }, headers: admin })
}

/** Sends the request of an operation and compares the answer with its description. */
function asker({ url, user }: Setup, document: Document) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'openapi', components: document.components })
  return async (operation: OperationId, status: number, call: Call): Promise<Record<string, unknown>> => {
    const [method, path] = operations[operation]
    const target = new URL(url + pathOf(operation, call.parameters ?? {}))
    for (const [name, value] of Object.entries(call.query ?? {})) target.searchParams.set(name, value)
    const json = call.json === undefined ? undefined : JSON.stringify(call.json)
    const body = json ?? call.body
    const response = await fetch(target, {
      method,
      headers: {
        ...(json && { 'content-type': 'application/json' }),
        ...(call.headers ?? basic(user.username, user.masterToken)),
      },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    const what = `${operation} ${status}: ${text.slice(0, 300)}`
    assert.equal(response.status, status, what)
    const described = document.paths[path]?.[method.toLowerCase()]?.responses[status]
    const answer = described?.$ref ? document.components.responses[lastPart(described.$ref)] : described
    assert.ok(answer, `${operation} ${status} is not described`)
    const type = response.headers.get('content-type')?.split(';')[0] ?? ''
    const schema = answer.content?.[type]?.schema
    assert.ok(schema, `${operation} ${status} is not described as ${type}`)
    if (type !== 'application/json') return {}
    const value = JSON.parse(text) as Record<string, unknown>
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')))
    assert.ok(validate(value), `${what}\n${ajv.errorsText(validate.errors)}`)
    const known = membersOf(document, schema)
    assert.deepEqual(
      Object.keys(value).filter((member) => !known.includes(member)),
      [],
      what,
    )
    return value
  }
}

const lastPart = (ref: string) => ref.split('/').at(-1)!

function membersOf(document: Document, schema: Schema): readonly string[] {
  if (schema.$ref) return membersOf(document, document.components.schemas[lastPart(schema.$ref)]!)
  return [
    ...Object.keys(schema.properties ?? {}),
    ...(schema.anyOf ?? []).flatMap((each) => membersOf(document, each)),
  ]
}
