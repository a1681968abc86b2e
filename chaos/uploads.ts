import { Clients } from './clients.ts'
import type { Random } from './random.ts'
import { type Line, uploadInPieces } from './resumable.ts'
import type { ChaosUser, Stage } from './stage.ts'
import { problemOf, type Write, type WriteEvidence } from './writes.ts'

/** Uploads in several requests, over the same servers as everything else. */
export class UploadingClients extends Clients {
  protected lineOf(user: ChaosUser): Line {
    const pathOf = (path: string) => `/api/v4/uploads${path}`
    return {
      random: this.random,
      ask: (path, options) => this.ask(user, pathOf(path), options),
      // 423: an earlier request still runs. 429: the limit of unfinished uploads, or of requests.
      insist: (path, options) => this.insist(user, pathOf(path), options, [423, 429]),
      urlOf: (path) => {
        const { url } = this.random.pick(this.stage.servers)
        return `${url}/user/${user.account.username}${pathOf(path)}?api_key=${user.token}`
      },
      pause: () => this.pause(50, 500),
    }
  }
}

/** Clients that load rows by uploads in several requests, each until they are stored. */
export class Uploads extends UploadingClients {
  /** Answers that must never come, whatever happens. */
  readonly surprises: string[] = []
  readonly #sent: string[] = []
  readonly #writes: Write[] = []

  constructor(stage: Stage, random: Random, clients: number) {
    super(stage, random)
    this.start(clients, () => {
      const key = `upload-${random.hex()}${random.hex()}`
      this.#sent.push(key)
      return { act: () => this.#load(key), note: (what) => this.surprises.push(`${key}: ${what}`) }
    })
  }

  /** The keys of all uploads begun. */
  get keys(): readonly string[] {
    return this.#sent
  }

  get counts(): Readonly<{ stored: number; doubt: number }> {
    const count = (wanted: Write['verdict']) =>
      this.#writes.filter(({ verdict }) => verdict === wanted).length
    return { stored: count('stored'), doubt: count('doubt') }
  }

  /** Compares the answers with the tables. */
  judge(evidence: WriteEvidence): string[] {
    return this.#writes.flatMap((write) => {
      const problem = problemOf(write, evidence)
      return problem ? [`${write.key}: ${problem}: ${write.words}`] : []
    })
  }

  async #load(key: string): Promise<void> {
    // In the second table a commit takes a while.
    const [table, rows] = this.random.isLucky(0.5) ? ['ledger', 5_000] : ['slow_ledger', 20]
    const content = Array.from({ length: rows }, (_, index) => `${key}/${index}\n`).join('')
    const metadata = { kind: 'copyfrom', q: `copy ${table} (entry) from stdin` }
    const uploaded = await uploadInPieces(this.lineOf(this.random.pick(this.stage.users)), {
      metadata,
      content,
    })
    if ('problem' in uploaded) this.surprises.push(`${key}: ${uploaded.problem}`)
    else
      this.#writes.push({
        key,
        rows,
        verdict: uploaded.isUnknown ? 'doubt' : 'stored',
        words: `upload ${uploaded.id}`,
      })
    await this.pause(50, 500)
  }
}
