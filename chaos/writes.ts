import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'
import type { ChaosUser, Stage } from './stage.ts'

/** The meaning of the answer to a write. `doubt`: there was none, or it says that the outcome is unknown. */
type Verdict = 'stored' | 'not stored' | 'doubt'

export type Write = Readonly<{ key: string; rows: number }> & Answer

/** The meaning of an answer, and its text. */
type Answer = Readonly<{ verdict: Verdict; words: string }>

/** What is known of entries besides the answers. */
export type WriteEvidence = Readonly<{
  timesApplied: (entry: string) => number
  isLostByReplication: (entry: string) => boolean
}>

/** Clients that copy rows in and out and write by the SQL endpoint. Each request is sent once. */
export class Writes {
  /** Answers that must never come, whatever happens. */
  readonly surprises: string[] = []
  readonly #writes: Write[] = []
  readonly #stage: Stage
  readonly #random: Random
  readonly #onStored: () => void
  readonly #clients: Promise<void>[]
  #downloads = 0
  #isOver = false

  constructor(stage: Stage, random: Random, clients: number, onStored: () => void) {
    this.#stage = stage
    this.#random = random
    this.#onStored = onStored
    this.#clients = Array.from({ length: clients }, () => this.#play())
    this.#clients.push(this.#probe())
  }

  get counts(): Readonly<Record<Verdict | 'downloads', number>> {
    const count = (verdict: Verdict) => this.#writes.filter((write) => write.verdict === verdict).length
    const downloads = this.#downloads
    return { stored: count('stored'), 'not stored': count('not stored'), doubt: count('doubt'), downloads }
  }

  get keys(): readonly string[] {
    return this.#writes.map(({ key }) => key)
  }

  async finish(): Promise<void> {
    this.giveUp()
    await Promise.all(this.#clients)
  }

  giveUp(): void {
    this.#isOver = true
  }

  /** Compares the answers with the tables. */
  judge(evidence: WriteEvidence): string[] {
    return this.#writes.flatMap((write) => {
      const problem = problemOf(write, evidence)
      return problem ? [`${write.key}: ${problem}: ${write.words}`] : []
    })
  }

  async #play(): Promise<void> {
    while (!this.#isOver) {
      const isDownload = this.#random.isLucky(0.25)
      await (isDownload ? this.#download() : this.#write(this.#random.isLucky(0.6) ? 20 : 1))
      await sleep(this.#random.between(50, 500))
    }
  }

  /** Small writes at a steady rate, answered or not: they show when the service is down. */
  async #probe(): Promise<void> {
    const open = new Set<Promise<void>>()
    while (!this.#isOver) {
      if (open.size < mostProbes) {
        const probe = this.#write(1).finally(() => open.delete(probe))
        open.add(probe)
      }
      await sleep(probeEveryMs)
    }
    await Promise.all(open)
  }

  async #write(rows: number): Promise<void> {
    const key = `write-${this.#random.hex()}${this.#random.hex()}`
    const user = this.#random.pick(this.#stage.users)
    const sent = rows === 1 ? this.#insert(user, key) : this.#upload(user, key, rows)
    const answer = await sent.catch((error: unknown): Answer => ({ verdict: 'doubt', words: String(error) }))
    if (answer.verdict === 'stored') this.#onStored()
    this.#writes.push({ key, rows, ...answer })
  }

  async #insert(user: ChaosUser, key: string): Promise<Answer> {
    const q = `insert into ledger (entry) values ('${key}/0')`
    const headers = { 'content-type': 'application/json' }
    return this.#read(await this.#send(user, 'sql', {}, { headers, body: JSON.stringify({ q }) }))
  }

  async #upload(user: ChaosUser, key: string, rows: number): Promise<Answer> {
    const body = Array.from({ length: rows }, (_, index) => `${key}/${index}\n`).join('')
    const q = 'copy ledger (entry) from stdin'
    return this.#read(await this.#send(user, 'sql/copyfrom', { q }, { body }))
  }

  /** Checks that a download that ends well is complete. */
  async #download(): Promise<void> {
    const user = this.#random.pick(this.#stage.users)
    const q = `copy (select * from generate_series(1, ${downloadedRows})) to stdout`
    try {
      const response = await this.#send(user, 'sql/copyto', { q })
      if (response.status !== 200) return void (await this.#read(response))
      const text = await response.text()
      this.#downloads += 1
      const rows = text.split('\n').length - 1
      if (rows !== downloadedRows) {
        const answer = `${JSON.stringify([...response.headers])} ${JSON.stringify(text.slice(0, 300))}`
        this.surprises.push(`${new Date().toISOString()} a download ended well with ${rows} rows: ${answer}`)
      }
    } catch {
      // Its connection was cut, and the client saw that.
    }
  }

  #send(
    { account, token }: ChaosUser,
    path: string,
    query: Record<string, string>,
    options: RequestInit = { method: 'GET' },
  ): Promise<Response> {
    const { url } = this.#random.pick(this.#stage.servers)
    const words = new URLSearchParams({ ...query, api_key: token })
    return fetch(`${url}/user/${account.username}/api/v2/${path}?${words}`, {
      method: 'POST',
      signal: AbortSignal.timeout(patienceMs),
      ...options,
    })
  }

  async #read(response: Response): Promise<Answer> {
    const { status } = response
    const words = `${status} ${await response.text()}`
    if (status === 200) return { verdict: 'stored', words }
    if (!forgiven.has(status)) this.surprises.push(`a write or copy was answered with ${words}`)
    const isDoubt = status === 408 || /outcome-unknown/.test(words)
    return { verdict: isDoubt ? 'doubt' : 'not stored', words }
  }
}

/** All rows or none, once, and as the answer said. */
export function problemOf({ key, rows, verdict }: Write, evidence: WriteEvidence): string | undefined {
  const entries = Array.from({ length: rows }, (_, index) => `${key}/${index}`)
  const times = entries.map(evidence.timesApplied)
  const most = Math.max(...times)
  if (most > 1) return `applied ${most} times`
  if (most !== Math.min(...times)) return 'applied in part'
  if (verdict === 'not stored' && most === 1) return 'answered as not stored, but applied'
  const isLost = entries.every(evidence.isLostByReplication)
  return verdict === 'stored' && most === 0 && !isLost ? 'answered as stored, but not there' : undefined
}

/** 408: the request was held until its time limit ended. 429: a limit, as when all wait. 503: try again. */
const forgiven: ReadonlySet<number> = new Set([408, 429, 503])
const downloadedRows = 20_000
const patienceMs = 15_000
const probeEveryMs = 200
const mostProbes = 50
