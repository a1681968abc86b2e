import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { insist } from './insist.ts'
import type { AdminSql } from './postgres/run-sql.ts'

/** The receiver of webhooks. It refuses some messages and accepts others without an answer, so that they come again. */
export class Told {
  readonly host: string
  readonly close: () => Promise<void>
  readonly #takeAll: () => void
  /** By job: the ends that it was notified of. */
  readonly #ends: ReadonlyMap<string, ReadonlySet<string>>

  private constructor(
    host: string,
    ends: ReadonlyMap<string, ReadonlySet<string>>,
    takeAll: () => void,
    close: () => Promise<void>,
  ) {
    this.host = host
    this.#takeAll = takeAll
    this.#ends = ends
    this.close = close
  }

  static async open(): Promise<Told> {
    const ends = new Map<string, Set<string>>()
    let count = 0
    let takesAll = false
    const server = createServer(async (request, response) => {
      const isRefused = ++count % refusedOf === 0 && !takesAll
      const isCut = count % refusedOf === 1 && !takesAll
      const { type, data } = JSON.parse(await textOf(request)) as {
        type: string
        data: { job_id?: string; id?: string }
      }
      // The id of a job or an import.
      const id = data.job_id ?? data.id!
      if (!isRefused) ends.set(id, (ends.get(id) ?? new Set()).add(type))
      if (isCut) request.socket.destroy()
      else response.writeHead(isRefused ? 500 : 204).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = async () => {
      server.closeAllConnections()
      server.close()
    }
    const takeAll = () => {
      takesAll = true
    }
    return new Told(`127.0.0.1:${(server.address() as AddressInfo).port}`, ends, takeAll, close)
  }

  /** Each account notifies of all its jobs and imports. */
  webhookOf(userId: number): Readonly<{ text: string; values: unknown[] }> {
    return {
      text: `insert into cartage.webhooks (user_id, url, events, include_sql)
        values ($1, $2, '{job.done,job.failed,job.cancelled,job.unknown,import.complete,import.failure}', false)`,
      values: [userId, `http://${this.host}/`],
    }
  }

  /**
   * Waits until everything is delivered, or the time is over. Messages refused often would come only minutes or hours
   * later.
   */
  async settle(admin: AdminSql, patienceMs: number): Promise<void> {
    this.#takeAll()
    await insist(() =>
      admin(
        `update cartage.webhook_deliveries set due_at = clock_timestamp() where status = 'pending' and claim is null`,
      ),
    )
    const until = performance.now() + patienceMs
    const pending = async () =>
      (await insist(() => admin(`select from cartage.webhook_deliveries where status = 'pending' limit 1`)))
        .rowCount
    while (performance.now() < until && (await pending())) await sleep(250)
  }

  /** Checks that every final state was sent at least once, correctly, and by one message. */
  async judge(admin: AdminSql): Promise<Readonly<{ told: number; problems: readonly string[] }>> {
    const { rows } = await insist(() =>
      admin(
        `select j.id,
           case when not j.is_import then 'job.' || j.status when j.status = 'done' then 'import.complete' else 'import.failure' end as end,
           array_agg(d.type || ' ' || d.status) filter (where d.id is not null) as messages
         from cartage.jobs j left join cartage.webhook_deliveries d on d.user_id = j.user_id and d.subject = j.id
         where j.finished_at is not null group by j.user_id, j.id`,
      ),
    )
    const problems = (rows as Ended[]).flatMap(({ id, end, messages }) => {
      const received = [...(this.#ends.get(id) ?? [])].join()
      if (messages?.join() !== `${end} delivered`) return [`${id}: ${end}, and its messages are ${messages}`]
      return received === end ? [] : [`${id}: ${end}, and the receiver was told '${received}'`]
    })
    return { told: this.#ends.size, problems }
  }
}

type Ended = Readonly<{ id: string; end: string; messages: readonly string[] | null }>

const refusedOf = 10

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
