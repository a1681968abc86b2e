import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { Slots } from '../../postgres/pools/slots.ts'
import { answerQuery, type Queries } from '../../query/answer-query.ts'
import { type ParquetProgram, startParquetProgram } from '../../query/parquet/parquet-program.ts'
import type { Query } from '../../query/query.ts'
import type { ClientWait } from '../../statements/client-wait.ts'

export type ParquetClient = Readonly<{
  gone: AbortLike
  /** Opens the answer. Called with the first bytes: until then an error can still be answered. */
  open: () => Writable
  wait: ClientWait
}>

/** Parquet files, two at a time in a process and one for each account. */
export class ParquetAnswers {
  readonly #slots = new Slots({ total: 2, perRole: 1, perAccount: 1, anonymousPerAccount: 1 })

  async send(queries: Queries, principal: Principal, query: Query, client: ParquetClient): Promise<void> {
    const holder = { account: principal.account.username, role: principal.account.username }
    const leave = await this.#slots.take(holder, waitMs, () => errors.tooManyCopies(60), client.gone)
    const program = startParquetProgram()
    const ending = new AbortController()
    const stop = () => {
      program.kill()
      ending.abort(errors.clientLeft())
    }
    if (client.gone.aborted) stop()
    client.gone.addEventListener('abort', stop)
    void program.ended.then(({ isOk }) => isOk || stop())
    try {
      await writeThrough(program, queries, principal, query, { ...client, gone: ending.signal as AbortLike })
    } finally {
      client.gone.removeEventListener('abort', stop)
      program.kill()
      await program.ended
      leave()
    }
  }
}

/** The rows go through the program to the client. */
async function writeThrough(
  program: ParquetProgram,
  queries: Queries,
  principal: Principal,
  query: Query,
  { gone, open, wait }: ParquetClient,
): Promise<void> {
  const sent = pipeline(program.stdout, lateAnswer(program, open))
  sent.catch(() => undefined)
  try {
    const target = () => ({ sink: program.stdin, wait })
    const answer = await answerQuery(queries, principal, query, { gone, open: target })
    if (answer !== null) program.stdin.end(answer, 'latin1')
  } catch (error) {
    // The statement was stopped because the program ended.
    if (gone.aborted) await refuseUnfit(program)
    throw error
  }
  wait.begin(() => program.kill())
  try {
    await sent
  } finally {
    wait.end()
  }
}

/** Opened with the first bytes, and ended only if the program has written the whole file. */
function lateAnswer(program: ParquetProgram, open: () => Writable): Writable {
  let answer: Writable | undefined
  return new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      answer ??= open()
      answer.write(chunk, done)
    },
    final: (done) => {
      refuseUnfit(program).then(() => {
        answer?.end()
        done()
      }, done)
    },
  })
}

async function refuseUnfit({ ended }: ParquetProgram): Promise<void> {
  const { isOk, unfit, stderr } = await ended
  if (unfit !== undefined) throw errors.valueUnfit('parquet', unfit)
  if (!isOk) throw new Error(`the Parquet writer ended: ${stderr}`)
}

const waitMs = 10 * 60_000
