import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { operations } from '../../src/contract/operations.ts'
import {
  type Description,
  type Operation,
  objectOf,
  type Schema,
  typeOf,
} from '../support/http/openapi-types.ts'
import { setup } from '../support/service/setup.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The client's answers by operation: its functions, and what some of them take from the answer. */
const answers: Readonly<Record<string, string>> = {
  listKeys: `Answer<Client['keys']['list']>`,
  createKey: `Answer<Client['keys']['create']>`,
  readKey: `Answer<Client['keys']['read']>`,
  deleteKey: `Answer<Client['keys']['delete']>`,
  regenerateToken: `Answer<Client['keys']['regenerate']>`,
  createJob: `Answer<Client['jobs']['create']>`,
  readJob: `Answer<Client['jobs']['read']>`,
  updateJob: `Answer<Client['jobs']['update']>`,
  cancelJob: `Answer<Client['jobs']['cancel']>`,
  listJobs: `JobList`,
  createJobByV4: `FullJobDocument`,
  readJobByV4: `Answer<Client['jobs']['details']>`,
  updateJobByV4: `FullJobDocument`,
  listSchedules: `ScheduleList`,
  createSchedule: `Answer<Client['schedules']['create']>`,
  readSchedule: `Answer<Client['schedules']['read']>`,
  putSchedule: `Answer<Client['schedules']['put']>`,
  listRuns: `{ runs: Answer<Client['schedules']['runs']> }`,
  runSchedule: `Answer<Client['schedules']['run']>`,
  createImport: `Answer<Client['imports']['create']>`,
  listImports: `Answer<Client['imports']['list']>`,
  readImport: `Answer<Client['imports']['read']>`,
  cancelImport: `Answer<Client['imports']['cancel']>`,
  createExport: `Answer<Client['exports']['link']>`,
  listExports: `Answer<Client['exports']['list']>`,
  listWebhooks: `{ webhooks: Answer<Client['webhooks']['list']> }`,
  createWebhook: `Answer<Client['webhooks']['create']>`,
  changeWebhook: `Answer<Client['webhooks']['change']>`,
  testWebhook: `Answer<Client['webhooks']['test']>`,
  listDeliveries: `DeliveryList`,
  redeliver: `Answer<Client['webhooks']['redeliver']>`,
  listQueries: `{ queries: Answer<Client['queries']['list']> }`,
  saveQuery: `Answer<Client['queries']['save']>`,
  listDashboards: `{ dashboards: Answer<Client['dashboards']['list']> }`,
  saveDashboard: `Answer<Client['dashboards']['save']>`,
  readDashboard: `Answer<Client['dashboards']['get']>`,
  readQuery: `Answer<Client['queries']['get']>`,
  copyFrom: `Answer<Client['copyFrom']>`,
  listTables: `Answer<Client['tables']['list']>`,
  readTable: `Answer<Client['tables']['read']>`,
  changePrivacy: `Answer<Client['tables']['setPrivacy']>`,
  readTableDetails: `Answer<Client['tables']['details']>`,
  listDatasets: `Answer<Client['tables']['datasets']>`,
  listTiles: `Answer<Client['tiles']['list']>`,
  readTileJson: `Answer<Client['tiles']['read']>`,
  createMap: `Answer<Client['maps']['instantiate']>`,
  listNamedMaps: `{ template_ids: Answer<Client['maps']['list']> }`,
  createNamedMap: `Answer<Client['maps']['create']>`,
  readNamedMap: `Answer<Client['maps']['read']>`,
  replaceNamedMap: `Answer<Client['maps']['replace']>`,
  openNamedMap: `Answer<Client['maps']['open']>`,
  readNamedMapTileJson: `Answer<Client['maps']['tileJson']>`,
  readMapStyle: `Answer<Client['maps']['style']>`,
  readFeature: `Answer<Client['maps']['feature']>`,
  readDataview: `Answer<Client['maps']['dataview']>`,
  searchDataview: `Answer<Client['maps']['searchDataview']>`,
  whoAmI: `Answer<Client['me']>`,
  createUser: `Answer<AdminClient['users']['create']>`,
  listUsers: `{ users: Answer<AdminClient['users']['list']> }`,
  readUser: `Answer<AdminClient['users']['read']>`,
  changeUser: `Answer<AdminClient['users']['change']>`,
  deleteUser: `Answer<AdminClient['users']['delete']>`,
  suspendUser: `Answer<AdminClient['users']['suspend']>`,
  resumeUser: `Answer<AdminClient['users']['resume']>`,
  moveUser: `Answer<AdminClient['users']['move']>`,
  listKeysByV4: `Answer<Client['keys']['listFull']>`,
  createKeyByV4: `Answer<Client['keys']['createFull']>`,
  readKeyByV4: `Answer<Client['keys']['details']>`,
  changeKey: `Answer<Client['keys']['change']>`,
  inviteByKey: `Answer<Client['keys']['invite']>`,
  acceptInvitation: `Answer<Client['keys']['acceptInvitation']>`,
  listUserKeys: `Answer<AdminClient['users']['keys']>`,
  readMasterKey: `Answer<AdminClient['users']['readKey']>`,
  regenerateMasterKey: `Answer<AdminClient['users']['regenerateKey']>`,
  listPlans: `{ plans: Answer<AdminClient['plans']['list']> }`,
  createPlan: `Answer<AdminClient['plans']['create']>`,
  readPlan: `Answer<AdminClient['plans']['read']>`,
  changePlan: `Answer<AdminClient['plans']['change']>`,
  deletePlan: `Answer<AdminClient['plans']['delete']>`,
  createOrganization: `Answer<AdminClient['organizations']['create']>`,
  listOrganizations: `{ organizations: Answer<AdminClient['organizations']['list']> }`,
  readOrganization: `Answer<AdminClient['organizations']['read']>`,
  moveOrganization: `Answer<AdminClient['organizations']['move']>`,
  deleteOrganization: `Answer<AdminClient['organizations']['delete']>`,
  listHosts: `{ hosts: Answer<AdminClient['hosts']['list']> }`,
  addHost: `Answer<AdminClient['hosts']['add']>`,
  changeHost: `Answer<AdminClient['hosts']['change']>`,
  removeHost: `Answer<AdminClient['hosts']['remove']>`,
  listReplicas: `{ replicas: Answer<ReturnType<AdminClient['hosts']['replicas']>['list']> }`,
  addReplica: `Answer<ReturnType<AdminClient['hosts']['replicas']>['add']>`,
  removeReplica: `Answer<ReturnType<AdminClient['hosts']['replicas']>['remove']>`,
  drainHost: `Answer<AdminClient['hosts']['drain']>`,
  listMoves: `{ moves: Answer<AdminClient['moves']['list']> }`,
  readMove: `Answer<AdminClient['moves']['read']>`,
  cancelMove: `Answer<AdminClient['moves']['cancel']>`,
  listBackups: `{ backups: Answer<AdminClient['backups']> }`,
  createRestore: `Answer<AdminClient['restores']['create']>`,
  listRestores: `{ restores: Answer<AdminClient['restores']['list']> }`,
  readRestore: `Answer<AdminClient['restores']['read']>`,
  cancelRestore: `Answer<AdminClient['restores']['cancel']>`,
  runDoctor: `{ checks: Answer<AdminClient['doctor']> }`,
  listAudit: `{ records: Answer<AdminClient['audit']> }`,
  readActivity: `Answer<AdminClient['activity']>`,
  readUserUsage: `Answer<AdminClient['users']['usage']>`,
  readOwnActivity: `Answer<Client['activity']>`,
  listHistory: `Answer<Client['history']['list']>`,
  tellHistory: `Answer<Client['history']['add']>`,
  readUsage: `Answer<Client['usage']>`,
  stopActivity: `Answer<AdminClient['stopActivity']>`,
  stopUserActivity: `Answer<AdminClient['users']['stopActivity']>`,
  isAlive: `Answer<Client['health']['live']>`,
  isReady: `Answer<Client['health']['ready']>`,
}

/** What the client sends besides the path: the parameters of the query, and the body. */
const queries: Readonly<Record<string, string>> = {
  listKeys: `Argument<Client['keys']['list'], 0>`,
  createKey: `Argument<Client['keys']['create'], 1>`,
  readKey: `Argument<Client['keys']['read'], 1>`,
  deleteKey: `Argument<Client['keys']['delete'], 1>`,
  regenerateToken: `Argument<Client['keys']['regenerate'], 1>`,
  listKeysByV4: `Argument<Client['keys']['listFull'], 0>`,
  createKeyByV4: `Argument<Client['keys']['createFull'], 1>`,
  readKeyByV4: `Argument<Client['keys']['details'], 1>`,
  changeKey: `Argument<Client['keys']['change'], 2>`,
  inviteByKey: `Argument<Client['keys']['invite'], 2>`,
  withdrawInvitation: `Argument<Client['keys']['withdrawInvitation'], 1>`,
  listUserKeys: `Argument<AdminClient['users']['keys'], 1>`,
  listJobs: `Argument<Client['jobs']['list'], 0>`,
  readJob: `{ wait?: Argument<Client['jobs']['read'], 1>['waitSeconds'] }`,
  readJobByV4: `{ wait?: Argument<Client['jobs']['details'], 1>['waitSeconds'] }`,
  createImport: `ImportQuery`,
  listRuns: `Argument<Client['schedules']['runs'], 1>`,
  listImports: `Argument<Client['imports']['list'], 0>`,
  readImport: `{ wait?: Argument<Client['imports']['read'], 1>['waitSeconds'] }`,
  copyFrom: `CopyUpload['query']`,
  listDeliveries: `Argument<Client['webhooks']['deliveries'], 0>`,
  listTables: `Argument<Client['tables']['list'], 0>`,
  listDatasets: `Argument<Client['tables']['datasets'], 0>`,
  readTileJson: `Argument<Client['tiles']['read'], 1>`,
  readTile: `Argument<Client['tiles']['tile'], 2>`,
  createMap: `Argument<Client['maps']['instantiate'], 1>`,
  // Meant for script elements; the client does not need it.
  readFeature: `{ callback?: string }`,
  openNamedMap: `Argument<Client['maps']['open'], 2>`,
  readNamedMapTileJson: `Argument<Client['maps']['tileJson'], 1>`,
  readMapStyle: `Argument<Client['maps']['style'], 1>`,
  readNamedMapTile: `MapTileOptions & ViewerTokens`,
  readDataview: `Argument<Client['maps']['dataview'], 2>`,
  searchDataview: `Argument<Client['maps']['searchDataview'], 2>`,
  readMapTile: `MapTileOptions`,
  readMapLayerTile: `MapTileOptions`,
  listAudit: `Argument<AdminClient['audit'], 0>`,
  readActivity: `Argument<AdminClient['activity'], 0>`,
  readUserUsage: `Argument<AdminClient['users']['usage'], 1> & { format?: 'json' | 'csv' }`,
  readOwnActivity: `Argument<Client['activity'], 0>`,
  listHistory: `Argument<Client['history']['list'], 0>`,
  clearHistory: `Argument<Client['history']['clear'], 0>`,
  readUsage: `Argument<Client['usage'], 0> & { format?: 'json' | 'csv' }`,
  listMoves: `Argument<AdminClient['moves']['list'], 0>`,
  removeHost: `Argument<AdminClient['hosts']['remove'], 1>`,
  listRestores: `Argument<AdminClient['restores']['list'], 0>`,
}
const bodies: Readonly<Record<string, string>> = {
  createKey: `Argument<Client['keys']['create'], 0>`,
  createKeyByV4: `Argument<Client['keys']['createFull'], 0>`,
  changeKey: `Argument<Client['keys']['change'], 1>`,
  inviteByKey: `Argument<Client['keys']['invite'], 1>`,
  acceptInvitation: `{ invitation: Argument<Client['keys']['acceptInvitation'], 0> }`,
  createSchedule: `Argument<Client['schedules']['create'], 0>`,
  putSchedule: `Argument<Client['schedules']['put'], 1> & { name?: string }`,
  createJob: `{ query: ClassicQuery }`,
  updateJob: `{ query: ClassicQuery }`,
  createJobByV4: `{ query: Argument<Client['jobs']['create'], 0> } & Omit<Argument<Client['jobs']['create'], 1>, 'idempotencyKey'>`,
  updateJobByV4: `{ query: Argument<Client['jobs']['update'], 1>; params?: Argument<Client['jobs']['update'], 2> }`,
  createExport: `{ q: Argument<Client['exports']['link'], 0> } & Argument<Client['exports']['link'], 1>`,
  tellHistory: `NewStatement`,
  createWebhook: `Argument<Client['webhooks']['create'], 0>`,
  changeWebhook: `Argument<Client['webhooks']['change'], 1>`,
  saveDashboard: `Argument<Client['dashboards']['save'], 1>`,
  saveQuery: `Argument<Client['queries']['save'], 1>`,
  runQuery: `Omit<Argument<Client['queries']['run'], 2>, 'signal' | 'numbers' | 'onProgress' | 'onWarnings'> & { format?: DownloadOptions['format'] }`,
  createImport: `ImportedRows & ImportOptions`,
  createMap: `Argument<Client['maps']['instantiate'], 0>`,
  createNamedMap: `Argument<Client['maps']['create'], 0>`,
  replaceNamedMap: `Argument<Client['maps']['replace'], 0>`,
  openNamedMap: `Argument<Client['maps']['open'], 1>`,
  copyToByPost: `{ q: Argument<Client['copyTo'], 0> }`,
  query: `{ q: string; params?: readonly Json[] } & Omit<DownloadOptions, 'params' | 'signal' | 'isRepeatable' | 'onProgress' | 'onWarnings'>`,
  changePrivacy: `{ privacy?: Argument<Client['tables']['setPrivacy'], 1>; name?: Argument<Client['tables']['rename'], 1> }`,
  createUser: `Argument<AdminClient['users']['create'], 0>`,
  // The document describes the limits only as an object.
  changeUser: `Omit<Argument<AdminClient['users']['change'], 1>, 'limits'> & { limits?: Record<string, unknown> }`,
  createPlan: `Omit<Argument<AdminClient['plans']['create'], 0>, 'limits'> & { limits?: Record<string, unknown> }`,
  changePlan: `{ limits: Record<string, unknown> }`,
  suspendUser: `{ reason: Argument<AdminClient['users']['suspend'], 1> }`,
  moveUser: `{ host: Argument<AdminClient['users']['move'], 1> }`,
  moveOrganization: `{ host: Argument<AdminClient['organizations']['move'], 1> }`,
  addHost: `Argument<AdminClient['hosts']['add'], 0>`,
  changeHost: `Argument<AdminClient['hosts']['change'], 1>`,
  addReplica: `Argument<ReturnType<AdminClient['hosts']['replicas']>['add'], 0>`,
  createRestore: `Argument<AdminClient['restores']['create'], 0>`,
  drainHost: `Argument<AdminClient['hosts']['drain'], 1>`,
  regenerateMasterKey: `Argument<AdminClient['users']['regenerateKey'], 1>`,
  createOrganization: `Argument<AdminClient['organizations']['create'], 0>`,
}

/** Bytes and text, rows of a statement, and other ways to the same answer. */
const others = [
  'cancelJobByV4',
  'copyTo',
  'copyToByPost',
  'query',
  'queryByGet',
  'readTile',
  'openExport',
  'readTileSource',
  'readSqlSource',
  'createMapByGet',
  'openNamedMapByGet',
  'openDashboardPage',
  'openMapPage',
  'deleteNamedMap',
  'readNamedMapTile',
  'readMapTile',
  'readMapLayerTile',
  'whoAmIByV3',
  'readMetrics',
  'downloadCommandLine',
  'openSession',
  'followJob',
  'deleteSchedule',
  'withdrawInvitation',
  'deleteExport',
  'deleteWebhook',
  'deleteDashboard',
  'deleteQuery',
  'runQuery',
  'runQueryByGet',
  'describeQueries',
  'deleteTable',
  'clearHistory',
  'deleteFromHistory',
  'createUpload',
  'readUpload',
  'showUpload',
  'appendToUpload',
  'deleteUpload',
]

test('answers have the members and types of the client, by the OpenAPI document', async (t) => {
  assert.deepEqual([...Object.keys(answers), ...others].sort(), Object.keys(operations).sort())
  const description = await readDescription(t)
  const checks = Object.entries(answers).map(([id, said]) => {
    const [, { content }] = Object.entries(operationOf(id, description).responses).find(([status]) =>
      status.startsWith('2'),
    )!
    const promised = typeOf(content!['application/json']!.schema, description)
    return `export namespace ${id} {
  type Promised = ${promised}
  type Said = ${said}
  export const kinds: Said = undefined as unknown as Promised
  export const members: Same<Members<Promised>, Members<Said>> = true
}`
  })
  assert.equal(await complaintsAbout(checks), '')
})

test('the client can send what the OpenAPI document accepts, and nothing else', async (t) => {
  const description = await readDescription(t)
  const check = (id: string, what: string, said: string, taken: Schema) => `export namespace ${id}_${what} {
  type Taken = ${typeOf(taken, description)}
  type Said = ${said}
  export const kinds: Taken = undefined as unknown as Said
  type LeftOut = Exclude<${[...leftOutByAll, ...(leftOut[id] ?? [])].map((path) => `\`${path}\``).join(' | ')}, Members<Said>>
  export const members: Same<Exclude<Members<Taken>, LeftOut>, Members<Said>> = true
}`
  const ids = Object.keys(operations)
  const sent = ids.flatMap((id) => {
    const { parameters = [], requestBody } = operationOf(id, description)
    const inQuery = parameters.filter((each) => each.in === 'query')
    const body = requestBody?.content?.['application/json']?.schema
    return [
      ...(id in queries ? [check(id, 'query', queries[id]!, objectOf(inQuery))] : []),
      ...(id in bodies ? [check(id, 'body', bodies[id]!, body!)] : []),
      // Anything the client never sends must be left out on purpose.
      ...(id in queries || others.includes(id) ? [] : [check(id, 'query', '{}', objectOf(inQuery))]),
    ]
  })
  const withBody = ids.filter((id) => operationOf(id, description).requestBody?.content?.['application/json'])
  assert.deepEqual(Object.keys(bodies).sort(), withBody.sort())
  assert.equal(await complaintsAbout(sent), '')
})

/** Credentials are sent as a header, and a new client need not name itself. */
const leftOutByAll = ['.api_key', '.client']
/** Read-only, of no use to the reader of the answer, or available another way in the client. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  createKey: ['.type', '.token', '.user', '.created_at', '.updated_at', '._links'],
  createJob: ['.onsuccess', '.onerror'],
  updateJob: ['.onsuccess', '.onerror'],
  createJobByV4: ['.onsuccess', '.onerror'],
  updateJobByV4: ['.onsuccess', '.onerror'],
  createImport: ['.file', '.filename', '.sql', '.table_copy', '.url'],
  copyToByPost: ['.filename'],
  query: ['.filename'],
  runQuery: ['.filename'],
  listTables: ['.type'],
}

async function readDescription(t: TestContext): Promise<Description> {
  const { url } = await setup(t)
  return (await fetch(`${url}/openapi.json`).then((response) => response.json())) as Description
}

function operationOf(id: string, { paths }: Description): Operation {
  const [method, path] = operations[id as keyof typeof operations]
  return paths[path]![method.toLowerCase()]!
}

const preamble = `import type { AdminClient } from '../../../src/client/admin-client.ts'
import type { CopyUpload } from '../../../src/client/api/copy-upload.ts'
import type { DownloadOptions } from '../../../src/client/api/data-api.ts'
import type { MapTileOptions, ViewerTokens } from '../../../src/client/api/maps-api.ts'
import type { ImportedRows, ImportOptions, ImportQuery } from '../../../src/client/api/imports-api.ts'
import type { Client } from '../../../src/client/user-client.ts'
import type { FullJobDocument, JobList, NewItem, NewStatement, ScheduleList } from '../../../src/contract/documents.ts'
import type { DeliveryList } from '../../../src/contract/webhooks.ts'

/** Not deeper, so that its members can be counted. */
type Json = string | number | boolean | null | readonly unknown[] | Record<string, unknown>
type Argument<F extends (...args: never[]) => unknown, Place extends number> = NonNullable<Parameters<F>[Place]>
type Answer<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>
/** The client sends bodies with params to /api/v4. */
type ClassicItem = string | Omit<NewItem, 'params'>
type ClassicQuery = string | readonly ClassicItem[] | { query: readonly ClassicItem[]; onsuccess?: string; onerror?: string }
/** The paths of all members: 'result[].name'. */
type Members<T> = T extends readonly (infer Each)[]
  ? \`[]\${Members<Each>}\`
  : T extends object
    ? { [Name in keyof T & string]-?: \`.\${Name}\` | \`.\${Name}\${Members<NonNullable<T[Name]>>}\` }[keyof T & string]
    : ''
type Same<A, B> = [Exclude<A, B>, Exclude<B, A>] extends [never, never] ? true : [Exclude<A, B>, Exclude<B, A>]
`

/** What the compiler reports for a file of the project. */
async function complaintsAbout(checks: readonly string[]): Promise<string> {
  const source = `${preamble}\n${checks.join('\n')}\n`
  // Three folders deep, in a folder that no other test reads.
  const parent = join(root, 'dist/checks')
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, 'types-'))
  try {
    await writeFile(join(folder, 'check.ts'), source)
    const config = {
      extends: '../../../tsconfig.json',
      compilerOptions: { erasableSyntaxOnly: false, noUnusedLocals: false },
      include: ['check.ts'],
      exclude: [],
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const compiler = join(root, 'node_modules/.bin/tsc')
    return await promisify(execFile)(compiler, ['--project', folder, '--pretty', 'false']).then(
      () => '',
      ({ stdout }) => withLines(String(stdout), source),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Adds to each complaint the operation it is about. */
function withLines(complaints: string, source: string): string {
  const lines = source.split('\n')
  return complaints.replace(/^.*check\.ts\((\d+),\d+\)/gm, (_, line) => {
    const before = lines.slice(0, Number(line)).reverse()
    return before.find((text) => text.startsWith('export namespace'))?.split(' ')[2] ?? `line ${line}`
  })
}
