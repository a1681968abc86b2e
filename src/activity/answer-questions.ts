import { errors } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import {
  type RunningStatement,
  type RunningStatements,
  runningStatements,
} from '../statements/running-statements.ts'
import { settlesWithin } from '../waiting/settles-within.ts'
import { findQuestion, writeAnswer } from './activity-store.ts'
import { lookAtBackends, type SeenBackend } from './look-at-backends.ts'
import {
  type ActiveStatement,
  type ActivityAnswer,
  type ActivityQuestion,
  cutText,
  type Stopped,
} from './question.ts'

/** Answers the questions of operators about what this process runs. */
export class AnswerQuestions {
  readonly #databases: Databases
  readonly #log: Log
  readonly #running: RunningStatements

  constructor(databases: Databases, log: Log) {
    this.#databases = databases
    this.#log = log
    this.#running = runningStatements(databases)
  }

  /** Does nothing if the caller no longer waits for the answer. */
  async answer(questionId: string): Promise<void> {
    // What begins later is not meant.
    const known = this.#running.list()
    const { control } = this.#databases
    try {
      const question = await findQuestion(control, questionId)
      if (question)
        await writeAnswer(control, questionId, this.#running.process, await this.#find(question, known))
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot answer an operator what runs')
    }
  }

  async #find(question: ActivityQuestion, known: readonly RunningStatement[]): Promise<ActivityAnswer> {
    if (question.ask === 'list') return this.#list(question, known)
    const isMeant = ({ id, principal }: RunningStatement) =>
      question.ask === 'stop' ? id === question.id : principal.account.username === question.username
    // What has ended since was not stopped.
    const going = known.filter((one) => isMeant(one) && this.#running.find(one.id))
    return { statements: [], left: 0, stopped: await Promise.all(going.map((one) => stop(one))) }
  }

  async #list(
    { username, isFull, limit }: Extract<ActivityQuestion, { ask: 'list' }>,
    known: readonly RunningStatement[],
  ): Promise<ActivityAnswer> {
    const asked = known.filter(
      ({ principal }) => username === null || principal.account.username === username,
    )
    const shown = asked.slice(0, limit)
    const seen = await this.#look(shown)
    // A connection that still runs the statement had its backend all the time, so the pid is no other's.
    const going = shown.filter(({ id }) => this.#running.find(id))
    const cut = new TextCut(isFull)
    return {
      statements: going.map((one) => told(one, seen.get(one), cut)),
      left: asked.length - shown.length,
      stopped: [],
    }
  }

  async #look(shown: readonly RunningStatement[]): Promise<ReadonlyMap<RunningStatement, SeenBackend>> {
    const connected = shown.filter(({ session }) => session?.isAlive)
    const places = connected.map(({ session }) => ({
      hostId: session!.target.hostId,
      pid: session!.processId,
    }))
    const backends = await lookAtBackends(this.#databases, places)
    const seen = new Map<RunningStatement, SeenBackend>()
    for (const [place, statement] of connected.entries()) {
      const backend = backends[place]
      if (backend) seen.set(statement, backend)
    }
    return seen
  }
}

async function stop(statement: RunningStatement): Promise<Stopped> {
  const ended = statement.stop(errors.statementCancelled(undefined, 'by the operator'))
  const { id, kind, principal } = statement
  const hasEnded = await settlesWithin(ended, stopMs)
  return { id, kind, username: principal.account.username, key: principal.key.name, hasEnded }
}

/** A cancel, then the end of the backend, then that of the connection: each has a second. */
const stopMs = 4_000

function told(statement: RunningStatement, seen: SeenBackend | undefined, cut: TextCut): ActiveStatement {
  const { id, principal, kind, session, runMs, text } = statement
  return {
    id,
    username: principal.account.username,
    key: principal.key.name,
    kind,
    runMs: Math.round(runMs),
    waitsFor: statement.waitsFor ?? seen?.waitsFor ?? null,
    waitEvent: seen?.waitEvent ?? null,
    hostId: principal.account.hostId,
    pid: session?.processId ?? null,
    blockedBy: seen?.blockedBy ?? [],
    ...(text === undefined ? { text: null, isCut: false } : cut.take(text)),
  }
}

/** Whole texts are limited too, each and together: a text may have 16 MB, and all are answered at once. */
export class TextCut {
  #left: number

  constructor(isFull: boolean) {
    this.#left = isFull ? mostTogether : 0
  }

  take(text: string): Readonly<{ text: string; isCut: boolean }> {
    const cut = cutText(text, Math.max(shortText, Math.min(this.#left, longText)))
    this.#left -= cut.text.length
    return cut
  }
}

export const shortText = 1_024
export const longText = 256 * 1_024
const mostTogether = 4 * 1_024 * 1_024
