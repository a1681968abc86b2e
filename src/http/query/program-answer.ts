import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { answerQuery, type Queries } from '../../query/answer-query.ts'
import { type FileProgram, type ProgramFormat, startProgram } from '../../query/programs/run-program.ts'
import type { Query } from '../../query/query.ts'
import type { ReplicaReader } from '../../statements/replica-reader.ts'
import type { ClientWait } from '../../statements/time-limits.ts'
import type { FileTurns } from './file-turns.ts'

export type ProgramQuery = Query & { format: ProgramFormat }

export type ProgramClient = Readonly<{
  gone: AbortLike
  /** Opens the answer. Called with the first bytes: until then an error can still be answered. */
  open: () => Writable
  /** Told before `open` what the file leaves out. */
  warn: (sentence: string) => void
  wait: ClientWait
  reader?: ReplicaReader | undefined
}>

/** Files that a program of ours writes while they are sent. */
export class ProgramAnswers {
  readonly #turns: FileTurns

  constructor(turns: FileTurns) {
    this.#turns = turns
  }

  send(queries: Queries, principal: Principal, query: ProgramQuery, client: ProgramClient): Promise<void> {
    return this.#turns.take(principal, client.gone, () => runProgram(queries, principal, query, client))
  }
}

async function runProgram(
  queries: Queries,
  principal: Principal,
  query: ProgramQuery,
  client: ProgramClient,
): Promise<void> {
  const program = startProgram(query.format)
  const ending = new AbortController()
  const stop = () => {
    program.kill()
    ending.abort(errors.clientLeft())
  }
  if (client.gone.aborted) stop()
  client.gone.addEventListener('abort', stop)
  void program.ended.then(({ isOk }) => isOk || stop())
  try {
    const gone = ending.signal as AbortLike
    await writeThrough(program, queries, principal, query, { ...client, gone, left: client.gone })
  } finally {
    client.gone.removeEventListener('abort', stop)
    program.kill()
    await program.ended
  }
}

/** `gone`: the client has left, or the program has failed. `left`: the client has left. */
type StoppableClient = ProgramClient & Readonly<{ left: AbortLike }>

/** The rows go through the program to the client. */
async function writeThrough(
  program: FileProgram,
  queries: Queries,
  principal: Principal,
  query: ProgramQuery,
  { gone, left, open, warn, wait, reader }: StoppableClient,
): Promise<void> {
  const cut = new AbortController()
  // Node.js never ends a write that a client has left.
  if (left.aborted) cut.abort()
  left.addEventListener('abort', () => cut.abort())
  const sent = pipeline(program.stdout, lateAnswer(program, query.format, open), { signal: cut.signal })
  sent.catch(() => undefined)
  const { sink, isTooLong } =
    query.format === 'parquet' ? { sink: program.stdin, isTooLong: () => false } : limited(program)
  const refusal = errors.conversionFailed(query.format, tooLong)
  try {
    const toProgram = { gone, warn, reader, open: () => ({ sink, wait }) }
    const answer = await answerQuery(queries, principal, query, toProgram)
    if (answer !== null) program.stdin.end(answer, 'latin1')
  } catch (error) {
    if (left.aborted) throw errors.clientLeft()
    if (isTooLong()) throw refusal
    // The statement was stopped because the program ended.
    if (gone.aborted) await refuseUnfit(program, query.format)
    throw error
  }
  wait.begin(() => cut.abort())
  try {
    await sent
  } catch (error) {
    if (left.aborted) throw errors.clientLeft()
    if (cut.signal.aborted) throw errors.conversionFailed(query.format, 'it took too long')
    throw isTooLong() ? refusal : error
  } finally {
    wait.end()
  }
}

/** Opened with the first bytes, and ended only if the program has written the whole file. */
function lateAnswer(program: FileProgram, format: string, open: () => Writable): Writable {
  let answer: Writable | undefined
  return new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      answer ??= open()
      answer.write(chunk, done)
    },
    final: (done) => {
      refuseUnfit(program, format).then(() => {
        ;(answer ?? open()).end()
        done()
      }, done)
    },
  })
}

async function refuseUnfit({ ended }: FileProgram, format: string): Promise<void> {
  const { isOk, unfit, stderr } = await ended
  if (unfit !== undefined) throw errors.valueUnfit(format, unfit)
  if (/heap out of memory/.test(stderr)) throw errors.conversionFailed(format, 'they need too much memory')
  if (!isOk) throw new Error(`the writer of ${format} ended: ${stderr}`)
}

/** These programs hold all rows in memory. */
function limited(program: FileProgram): Readonly<{ sink: Writable; isTooLong: () => boolean }> {
  let bytes = 0
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length
      if (bytes > maxBytes) program.kill()
      program.stdin.write(chunk, () => done())
    },
    final: (done) => {
      program.stdin.end(() => done())
    },
  })
  return { sink, isTooLong: () => bytes > maxBytes }
}

const maxBytes = 64 * 1024 ** 2
const tooLong = 'the rows take more than 64 MB'
