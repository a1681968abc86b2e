import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, seededRandom } from '../../chaos/random.ts'
import type { ImportDocument } from '../../src/contract/documents.ts'
import { columnFile } from '../support/imports/column-files.ts'
import { made, places } from '../support/imports/import-api.ts'
import { startImportApi } from '../support/imports/import-processes.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

const kills = Number(process.env.CARTAGE_TEST_KILLS ?? 3)
const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)

type Sent = Readonly<{ user: TestUser; id: string; rows: number }>

test('workers killed at any moment leave no part of an import, and load none twice', {
  timeout: 3_600_000,
}, async (t) => {
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} CARTAGE_TEST_KILLS=${kills}`)
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // Processes of the service give up root.
  chmodSync(spool, 0o777)
  const house = await setup(t, { isIsolated: true })
  const users = [house.user, await house.createUser(), await house.createUser()]
  const url = await startImportApi(t, house, spool)
  const start = () => startWorkerProcess(t, house, { CARTAGE_IMPORT_DIR: spool })
  const workers = [await start(), await start()]
  for (const worker of workers) worker.isRevived = true
  const sent: Sent[] = []
  const api = importsAt(url)
  const stop = new AbortController()
  const senders = users.map((user, at) =>
    keepImporting(api, user, seededRandom(seed + at), sent, stop.signal),
  )
  const random = seededRandom(seed - 1)
  for (let kill = 0; kill < kills; kill++) {
    const victim = workers[kill % workers.length]!
    await eventually(async () => assert.ok(victim.isAlive && (await api.countRunning(users)) >= 2), 120_000)
    await sleep(random.between(0, 1_500))
    victim.signal('SIGKILL')
  }
  stop.abort()
  await Promise.all(senders)
  const ends = new Map<Sent, ImportDocument>()
  for (const each of sent) ends.set(each, await api.ended(each))
  const failed = [...ends.values()].filter(({ success }) => !success)
  t.diagnostic(`${sent.length} imports, of which ${failed.length} were given up`)
  // After three crashes an import is given up; nothing else may fail.
  for (const { error_code, get_error_text } of failed)
    assert.equal(error_code, 6671, get_error_text?.what_about)
  for (const user of users)
    await checkTables(
      user,
      [...ends].filter(([each]) => each.user === user),
    )
  await eventually(
    () =>
      assert.deepEqual(
        readdirSync(spool).filter((name) => name !== '.id'),
        [],
      ),
    120_000,
  )
})

/** Every import that is complete has its one table with all its rows; there is no other table. */
async function checkTables(
  user: TestUser,
  ends: readonly (readonly [Sent, ImportDocument])[],
): Promise<void> {
  const { rows } = await user.sql(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'S') order by 1`,
    [user.account.schema],
  )
  const wanted = ends.flatMap(([, { table_names: names }]) => names)
  const sequences = wanted.map((name) => `${name}_cartodb_id_seq`)
  assert.deepEqual(rows.map(({ name }) => name).sort(), [...wanted, ...sequences].sort())
  for (const [{ rows: count }, { table_name: name }] of ends) {
    if (name === null) continue
    const counted = await user.sql(`select count(*)::int as rows from ${name}`)
    assert.deepEqual(counted.rows, [{ rows: count }], name)
  }
}

/** Sends one import after the other. */
async function keepImporting(
  api: ReturnType<typeof importsAt>,
  user: TestUser,
  random: Random,
  sent: Sent[],
  signal: AbortSignal,
): Promise<void> {
  const kinds = files()
  while (!signal.aborted) {
    const { name, content, rows } = random.pick(kinds)
    const id = await api.post(user, name, content)
    if (id === undefined) await sleep(500)
    else sent.push({ user, id, rows })
  }
}

function files() {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `${at % 180},${at % 90},text of row ${at}`).join('\n')
  return [
    { name: 'big.csv', content: Buffer.from(`lon,lat,c\n${lines(60_000)}\n`), rows: 60_000 },
    { name: 'small.csv', content: Buffer.from(`lon,lat,c\n${lines(100)}\n`), rows: 100 },
    { name: 'some.gpkg', content: made('GPKG', 'a.gpkg', places).get('a.gpkg')!, rows: 3 },
    { name: 'some.parquet', content: columnFile('pyarrow.parquet'), rows: 3 },
  ]
}

function importsAt(url: string) {
  const address = ({ username, masterToken }: TestUser, path: string) =>
    `${url}/user/${username}/api/v1/imports${path}api_key=${masterToken}`
  const post = async (user: TestUser, name: string, content: Buffer): Promise<string | undefined> => {
    const answer = await fetch(address(user, `?filename=${name}&`), {
      method: 'POST',
      body: new Uint8Array(content),
    })
    const body = await answer.json()
    // All slots of the user are taken.
    if (answer.status === 429) return undefined
    assert.equal(answer.status, 200, JSON.stringify(body))
    return (body as { item_queue_id: string }).item_queue_id
  }
  /** Of these users' imports. */
  const countRunning = async (users: readonly TestUser[]) => {
    const lists = await Promise.all(users.map(async (user) => (await fetch(address(user, '?'))).json()))
    const ids = lists.flatMap((list, at) =>
      (list as { imports: string[] }).imports.map((id) => ({ user: users[at]!, id })),
    )
    const all = await Promise.all(ids.map(({ user, id }) => read(user, id)))
    return all.filter(({ state }) => state === 'importing' || state === 'unpacking').length
  }
  const read = async (user: TestUser, id: string) =>
    (await (await fetch(address(user, `/${id}?`))).json()) as ImportDocument
  const ended = ({ user, id }: Sent) =>
    eventually(async () => {
      const document = await read(user, id)
      assert.ok(document.success !== undefined, JSON.stringify(document))
      return document
    }, 180_000)
  return { post, countRunning, ended }
}
