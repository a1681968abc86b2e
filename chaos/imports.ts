import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ImportDocument } from '../src/contract/documents.ts'
import type { Answer } from './clients.ts'
import { insist } from './insist.ts'
import { placesOf } from './places.ts'
import { runSql } from './postgres/run-sql.ts'
import type { Random } from './random.ts'
import { uploadInPieces } from './resumable.ts'
import type { Stage } from './stage.ts'
import { UploadingClients } from './uploads.ts'

/**
 * `key`: of the request, and the name of a new table. An import that appends writes entries of the ledger, like jobs.
 */
type PlannedImport = Readonly<{
  key: string
  userIndex: number
  file: string
  content: string
  rows: number
  /** The table that the rows are added to. */
  appendsTo?: 'ledger' | 'slow_ledger'
  cancelAfterMs?: number
  /** Sent in several requests. */
  isResumable: boolean
}>

type PlayedImport = Readonly<{ plan: PlannedImport; id: string; final: ImportDocument }>

/** What is known of the rows besides the documents. */
type Evidence = Readonly<{
  timesApplied: (entry: string) => number
  isLostByReplication: (entry: string) => boolean
  /** Whether it was lost, also if unrecorded: the import of an upload has no Idempotency-Key. */
  isInLostTail: (entry: string) => boolean
}>

export type ImportCounts = Readonly<{
  complete: number
  inPieces: number
  cancelled: number
  givenUp: number
  begunAnew: number
}>

/** Clients that import files, cancel some, and follow each to its end, whatever happens to the service. */
export class Imports extends UploadingClients {
  /** Answers that must never come, whatever happens. */
  readonly surprises: string[] = []
  readonly #sent: PlannedImport[] = []
  readonly #played: PlayedImport[] = []

  constructor(stage: Stage, random: Random, clients: number) {
    super(stage, random)
    this.start(clients, () => {
      const plan = planImport(random, stage.users.length)
      this.#sent.push(plan)
      return { act: () => this.#playOne(plan), note: (what) => this.#note(plan, what) }
    })
  }

  /** The keys of all requests, answered or not. */
  get keys(): readonly string[] {
    return this.#sent.map(({ key }) => key)
  }

  /** Waits until no file is left, or the time for that is over. */
  async untilSwept(patienceMs: number): Promise<void> {
    const deadline = Date.now() + patienceMs
    while (Date.now() < deadline && (await this.#leftFiles()).length > 0) await sleep(500)
  }

  /** Compares the documents with the tables. */
  async judge(evidence: Evidence): Promise<Readonly<{ counts: ImportCounts; problems: readonly string[] }>> {
    const rows = await this.#rowsOfTables()
    const problems: string[] = []
    for (const played of this.#played) {
      const { plan } = played
      const now = await this.#read(plan, played.id)
      const problem =
        problemOf(plan, now ?? played.final, evidence, rows.get(plan.key)) ??
        (isDeepStrictEqual(now, played.final) ? undefined : 'a final import has changed')
      if (problem)
        problems.push(`${plan.key} (${plan.file}): ${problem}: ${JSON.stringify([played.final, now])}`)
    }
    const withCode = (code: number | null) =>
      this.#played.filter(({ final }) => final.error_code === code).length
    const { begunAnew, problems: strays } = await this.#strays()
    return {
      counts: {
        complete: withCode(null),
        inPieces: this.#played.filter(({ plan }) => plan.isResumable).length,
        cancelled: withCode(6672),
        givenUp: withCode(6671),
        begunAnew,
      },
      problems: [
        ...problems,
        ...strays,
        ...(await this.#leftFiles()).map((name) => `${name}: a file of an import is left`),
        ...(await leftProcesses(this.stage.spool)),
      ],
    }
  }

  /** An upload whose creation was never answered is empty, and stays for a day. */
  async #leftFiles(): Promise<string[]> {
    const { rows } = await insist(() =>
      this.stage.admin(
        `select 'tus-' || id as name from cartage.uploads where state = 'open' and received = 0`,
      ),
    )
    const empty = new Set(rows.map(({ name }) => name as string))
    return (await readdir(this.stage.spool)).filter((name) => name !== '.id' && !empty.has(name))
  }

  /** Checks that each request created one import. */
  async #strays(): Promise<Readonly<{ begunAnew: number; problems: readonly string[] }>> {
    const { rows } = await insist(() =>
      this.stage.admin(
        `select count(*)::integer as imports, count(*) filter (where attempts > 1)::integer as again from cartage.imports`,
      ),
    )
    const { imports, again } = rows[0] as { imports: number; again: number }
    const wanted = this.#played.length
    const problems = imports === wanted ? [] : [`${imports} imports in the database for ${wanted} requests`]
    return { begunAnew: again, problems }
  }

  /** The number of rows of each new table. */
  async #rowsOfTables(): Promise<ReadonlyMap<string, number>> {
    const places = await insist(() => placesOf(this.stage))
    const found = await Promise.all(
      this.stage.users.map(({ account: { database } }) =>
        insist(() => runSql(places.get(database)!, database, countTables)),
      ),
    )
    return new Map(found.flatMap(({ rows }) => rows.map(({ name, rows: count }) => [name, Number(count)])))
  }

  async #playOne(plan: PlannedImport): Promise<void> {
    const id = await (plan.isResumable ? this.#upload(plan) : this.#post(plan))
    if (id === undefined) return
    const cancelled = plan.cancelAfterMs === undefined ? undefined : this.#cancel(plan, id)
    const [final] = await Promise.all([this.#untilFinal(plan, id), cancelled])
    if (final) this.#played.push({ plan, id, final })
    await this.pause(50, 500)
  }

  async #post(plan: PlannedImport): Promise<string | undefined> {
    const { status, body } = await this.#insist(plan, 'POST', '', queryOf(plan), plan.content)
    const { item_queue_id: id } = body as { item_queue_id?: string }
    if (status === 200 && id) return id
    this.#note(plan, `POST answered ${status} ${JSON.stringify(body)}`)
    return undefined
  }

  /** The import has the id of its upload. */
  async #upload(plan: PlannedImport): Promise<string | undefined> {
    const file = { metadata: queryOf(plan), content: plan.content }
    const uploaded = await uploadInPieces(this.lineOf(this.stage.users[plan.userIndex]!), file)
    if ('problem' in uploaded) this.#note(plan, uploaded.problem)
    return 'problem' in uploaded ? undefined : uploaded.id
  }

  async #untilFinal(plan: PlannedImport, id: string): Promise<ImportDocument | undefined> {
    for (;;) {
      const document = await this.#read(plan, id, 5)
      if (!document || document.success !== undefined) return document
    }
  }

  async #read(plan: PlannedImport, id: string, waitSeconds = 0): Promise<ImportDocument | undefined> {
    const { status, body } = await this.#insist(plan, 'GET', `/${id}`, { wait: String(waitSeconds) })
    if (status === 200) return body as ImportDocument
    this.#note(plan, `GET of ${id} answered ${status} ${JSON.stringify(body)}`)
    return undefined
  }

  async #cancel(plan: PlannedImport, id: string): Promise<void> {
    await sleep(plan.cancelAfterMs)
    const { status, body } = await this.#insist(plan, 'DELETE', `/${id}`)
    // It has ended, or was cancelled by a request whose answer was lost.
    if (status !== 200 && status !== 400)
      this.#note(plan, `DELETE answered ${status} ${JSON.stringify(body)}`)
    const found = await this.#read(plan, id)
    if (found?.success === undefined) this.#note(plan, `the import is ${found?.state} after its DELETE`)
    if (status === 200 && found?.error_code !== 6672) this.#note(plan, `cancelled, and then ${found?.state}`)
  }

  #insist(
    plan: PlannedImport,
    method: string,
    path: string,
    query: Readonly<Record<string, string>> = {},
    content?: string,
  ): Promise<Answer> {
    const options = {
      method,
      query,
      headers: { 'idempotency-key': plan.key },
      ...(content === undefined ? {} : { body: content }),
    }
    // 429: the limit of unfinished imports.
    return this.insist(this.stage.users[plan.userIndex]!, `/api/v1/imports${path}`, options, [429])
  }

  #note({ key }: PlannedImport, what: string): void {
    this.surprises.push(`${key}: ${new Date().toISOString()} ${what}`)
  }
}

function planImport(random: Random, users: number): PlannedImport {
  const key = `loaded_${random.hex()}${random.hex()}`
  const kind = random.weighted({ table: 3, long: 2, geojson: 2, ledger: 2, slow_ledger: 2 })
  const rows = { table: 200, long: 20_000, geojson: 100, ledger: 500, slow_ledger: 20 }[kind]
  const numbers = Array.from({ length: rows }, (_, number) => number)
  const common = {
    key,
    userIndex: Math.floor(random.next() * users),
    rows,
    isResumable: random.isLucky(0.35),
    ...(random.isLucky(0.15) ? { cancelAfterMs: random.between(0, 1_500) } : {}),
  }
  const csv = (header: string, line: (number: number) => string) =>
    `${header}\n${numbers.map(line).join('\n')}\n`
  if (kind === 'geojson') return { ...common, file: 'f.geojson', content: geojsonOf(numbers) }
  if (kind === 'ledger' || kind === 'slow_ledger')
    return {
      ...common,
      file: 'f.csv',
      content: csv('entry', (number) => `${key}/${number}`),
      appendsTo: kind,
    }
  const content = csv('n,lon,lat', (number) => `${number},${number % 180},${number % 90}`)
  return { ...common, file: 'f.csv', content }
}

function geojsonOf(numbers: readonly number[]): string {
  const features = numbers.map((n) => ({
    type: 'Feature',
    properties: { n },
    geometry: { type: 'Point', coordinates: [n % 180, n % 90] },
  }))
  return JSON.stringify({ type: 'FeatureCollection', features })
}

function queryOf({ file, key, appendsTo }: PlannedImport): Record<string, string> {
  return appendsTo
    ? { filename: file, table_name: appendsTo, collision_strategy: 'append' }
    : { filename: file, table_name: key }
}

/** A complete import has all rows once, any other none. */
function problemOf(
  { key, rows, appendsTo, cancelAfterMs, isResumable }: PlannedImport,
  { state, error_code: code, get_error_text: text, table_names: tables }: ImportDocument,
  { timesApplied, isLostByReplication, isInLostTail }: Evidence,
  rowsInTable: number | undefined,
): string | undefined {
  const entries = Array.from({ length: appendsTo ? rows : 1 }, (_, number) => `${key}/${number}`)
  const times = entries.map(timesApplied)
  const most = Math.max(...times)
  if (most > 1) return `stored ${most} times`
  if (most !== Math.min(...times)) return 'stored in part'
  if (timesApplied(`${key}/sequence`) !== (appendsTo ? 0 : most)) return 'its sequence is left, or lacks'
  if (!appendsTo && (rowsInTable ?? 0) !== rows * most) return `its table has ${rowsInTable} rows of ${rows}`
  if (state === 'complete') {
    const isNamed = tables.join() === (appendsTo ?? key)
    if (!isNamed) return `its tables are '${tables.join()}'`
    const isLost = (isResumable ? isInLostTail : isLostByReplication)(entries[0]!)
    return most === 1 || isLost ? undefined : 'complete, and nothing is stored'
  }
  if (most !== 0) return `${state}, and its rows are stored`
  if (tables.length > 0) return `${state}, and has tables`
  const isExpected = code === 6671 || (code === 6672 && cancelAfterMs !== undefined)
  return isExpected ? undefined : `failed for no reason: ${code} ${text?.what_about}`
}

/** Each row of a file has its own number. */
const countTables = `select relname as name,
    (xpath('/row/rows/text()', query_to_xml(format('select count(distinct n) as rows from public.%I', relname), false, true, '')))[1]::text as rows
  from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname ~ '^loaded_[0-9a-f]+$'`

/** Processes that read files of imports. */
async function leftProcesses(spool: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return commands
    .filter((words) => words.includes(spool))
    .map((words) => `a process of an import is left: ${words.replaceAll('\0', ' ')}`)
}
