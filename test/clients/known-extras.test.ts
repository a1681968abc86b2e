import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { deleteOrganization } from '../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { type OperationId, operations, pathOf } from '../../src/contract/operations.ts'
import { basic, randomName, type Setup, setup } from '../support/service/setup.ts'

test('every body of every endpoint accepts api_key and client, which are neither stored nor shown', async (t) => {
  const house = await setup(t, { config: { webhooks: ['receiver.invalid'] } })
  const bodies = await bodiesOf(house, (undo) => t.after(undo))
  assert.deepEqual(Object.keys(bodies).sort(), await operationsWithBody(house.url))
  for (const [operation, { parameters = {}, body, headers, refusal }] of Object.entries(bodies)) {
    const [method] = operations[operation as OperationId]
    const extras = { api_key: house.user.masterToken, client: 'cps-1.11.3', ...body }
    const response = await fetch(house.url + pathOf(operation as OperationId, parameters), {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(extras),
    })
    const text = await response.text()
    if (refusal) assert.match(text, refusal)
    else assert.ok(response.ok, `${operation}: ${response.status} ${text}`)
    assert.ok(!text.includes('cps-1.11.3'), `${operation}: ${text}`)
    // The tile addresses have the token that was sent in the body.
    if (operation !== 'createMap') assert.ok(!text.includes(house.user.masterToken), `${operation}: ${text}`)
  }
})

type Example = Readonly<{
  parameters?: Record<string, string>
  body: Record<string, unknown>
  headers?: Record<string, string>
  /** The expected refusal for another reason. */
  refusal?: RegExp
}>

/** A valid body of each. Only the `api_key` in the body authenticates those of an account. */
async function bodiesOf(
  { user, keys, createUser, service }: Setup,
  after: (undo: () => Promise<void>) => void,
): Promise<Record<string, Example>> {
  const parameters = { name: user.username }
  const operator = { authorization: `Bearer ${keys.adminToken}` }
  await user.sql('create table t (x int)')
  const created = await fetch(`${user.base}/api/v2/sql/job`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...basic(user.username, user.masterToken) },
    body: JSON.stringify({ query: 'select 1' }),
  })
  const { job_id: jobId } = (await created.json()) as { job_id: string }
  const other = await createUser()
  const [member, organization, owner] = ['user', 'org', 'owner'].map(randomName) as [string, string, string]
  after(() => deleteUser(service.services.installation, member))
  after(() => deleteOrganization(service.services.installation, organization))
  const named = `${user.base}/api/v1/map/named`
  const headers = { 'content-type': 'application/json', ...basic(user.username, user.masterToken) }
  await fetch(named, { method: 'POST', headers, body: JSON.stringify(namedMap('here')) })
  const saved = { method: 'PUT', headers, body: JSON.stringify({ sql: 'select 1 as n' }) }
  await fetch(`${user.base}/api/v4/queries/here`, saved)
  const webhook = { url: 'http://receiver.invalid/told' }
  const made = { method: 'POST', headers, body: JSON.stringify(webhook) }
  const told = await fetch(`${user.base}/api/v4/webhooks`, made)
  const { id: webhookId } = (await told.json()) as { id: string }
  return {
    ...bodiesAboutKeys(parameters),
    createJob: { parameters, body: { query: 'select 1' } },
    createJobByV4: { parameters, body: { query: 'select 1' } },
    createSchedule: { parameters, body: { name: 'made', cron: '@daily', query: 'select 1' } },
    putSchedule: {
      parameters: { ...parameters, schedule: 'put' },
      body: { cron: '@daily', query: 'select 1' },
    },
    updateJobByV4: { parameters: { ...parameters, jobId }, body: { query: ['select 2'] } },
    updateJob: { parameters: { ...parameters, jobId }, body: { query: ['select 2'] } },
    createExport: { parameters, body: { q: 'select 1 as n' } },
    createImport: { parameters, body: { sql: 'select 1 as n', table_name: 'imported' } },
    copyToByPost: { parameters, body: { q: 'copy t to stdout' } },
    query: { parameters, body: { q: 'select 1' } },
    createWebhook: { parameters, body: webhook },
    changeWebhook: { parameters: { ...parameters, webhookId }, body: webhook },
    saveQuery: { parameters: { ...parameters, query: 'made' }, body: { sql: 'select 1 as n' } },
    saveDashboard: { parameters: { ...parameters, dashboard: 'made' }, body: { title: 'Made' } },
    runQuery: { parameters: { ...parameters, query: 'here' }, body: {} },
    createNamedMap: { parameters, body: namedMap('made') },
    replaceNamedMap: { parameters: { ...parameters, template: 'here' }, body: namedMap('here') },
    openNamedMap: { parameters: { ...parameters, template: 'here' }, body: {} },
    createMap: {
      parameters,
      body: { layers: [{ options: { sql: 'select null::geometry as the_geom_webmercator' } }] },
    },
    changePrivacy: { parameters: { ...parameters, table: 't' }, body: { privacy: 'PUBLIC' } },
    createUser: { body: { username: member, api_key: 'brought-along-0001' }, headers: operator },
    ...bodiesAboutUser(other.username, operator),
    createOrganization: { body: { name: organization, owner: { username: owner } }, headers: operator },
  }
}

function bodiesAboutKeys(parameters: { name: string }): Record<string, Example> {
  const grants = [{ type: 'apis', apis: ['sql'] }]
  const one = { ...parameters, key: 'k4' }
  return {
    createKey: { parameters, body: { name: 'k', grants } },
    createKeyByV4: { parameters, body: { name: 'k4', grants } },
    changeKey: { parameters: one, body: { description: 'changed' } },
    inviteByKey: { parameters: one, body: {} },
    tellHistory: {
      parameters,
      body: { id: randomUUID(), text: 'select 1', outcome: 'done', ms: 1 },
    },
    acceptInvitation: {
      parameters,
      body: { invitation: 'x' },
      refusal: /This invitation is no longer valid/,
    },
  }
}

function bodiesAboutUser(username: string, headers: Record<string, string>): Record<string, Example> {
  const parameters = { username }
  return {
    changeUser: { parameters, body: { quota_in_bytes: 5 }, headers },
    createPlan: { body: { name: `plan-${username}` }, headers },
    changePlan: { parameters: { plan: `plan-${username}` }, body: { limits: {} }, headers },
    moveUser: { parameters, body: { host: 'local' }, headers, refusal: /is on the host 'local' already/ },
    moveOrganization: {
      parameters: { organization: 'nobody' },
      body: { host: 'local' },
      headers,
      refusal: /Organization 'nobody' not found/,
    },
    drainHost: { parameters: { host: 'none' }, body: {}, headers, refusal: /There is no host 'none'/ },
    changeHost: { parameters: { host: 'local' }, body: { accepts_users: true }, headers },
    createRestore: {
      body: { file: 'none.tar', username: 'alice', as: 'alice2' },
      headers,
      refusal: /The service sees no backups/,
    },
    addHost: {
      body: { name: 'local', url: 'postgres://postgres@127.0.0.1:1/postgres' },
      headers,
      refusal: /The host 'local' comes from the configuration/,
    },
    addReplica: {
      parameters: { host: 'local' },
      body: { name: 'east', url: 'nowhere' },
      headers,
      refusal: /must begin with postgres/,
    },
    suspendUser: { parameters, body: { reason: 'unpaid' }, headers },
    regenerateMasterKey: { parameters, body: {}, headers },
  }
}

const namedMap = (name: string) => ({
  version: '0.0.1',
  name,
  layergroup: { layers: [{ options: { sql: 'select null::geometry as the_geom_webmercator' } }] },
})

/** All except copyfrom, whose body is data. */
async function operationsWithBody(url: string): Promise<string[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; requestBody?: { content: object } }>>
  }
  return Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter(({ requestBody }) => requestBody && 'application/json' in requestBody.content)
    .map(({ operationId }) => operationId)
    .sort()
}
