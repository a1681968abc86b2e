import { countProcesses } from '../auth/lease-store.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { poll } from '../waiting/poll.ts'
import { putQuestion, readAnswered, readAnswers, removeQuestion } from './activity-store.ts'
import type { ActivityAnswer, ActivityQuestion, ProcessAnswer } from './question.ts'

export type Answers = Readonly<{
  answers: readonly ActivityAnswer[]
  /** Processes that did not answer in time: stopped, cut off, or just ended. */
  silent: number
}>

/** Asks every process of the installation, and waits for all answers, at most `waitMs`. */
export async function askProcesses(
  control: Queryable,
  question: ActivityQuestion,
  waitMs: number,
): Promise<Answers> {
  const before = await countProcesses(control)
  const areAll = (answered: readonly string[]) => answered.length >= before
  const answers = await askUntil(control, question, waitMs, areAll)
  // A process that had lost its connection for messages was not counted, and did not get the question.
  const processes = Math.max(before, await countProcesses(control))
  return { answers, silent: Math.max(0, processes - answers.length) }
}

/** Asks one process. Undefined: it has ended, is cut off, or did not answer in time. */
export async function askProcess(
  control: Queryable,
  name: string,
  question: ActivityQuestion,
  waitMs: number,
): Promise<ActivityAnswer | undefined> {
  const processes = await countProcesses(control)
  // If all others have answered, there is no answer to wait for.
  const isOver = (answered: readonly string[]) => answered.includes(name) || answered.length >= processes
  const answers = await askUntil(control, question, waitMs, isOver)
  return answers.find(({ process }) => process === name)
}

async function askUntil(
  control: Queryable,
  question: ActivityQuestion,
  waitMs: number,
  isOver: (answered: readonly string[]) => boolean,
): Promise<readonly ProcessAnswer[]> {
  const id = await putQuestion(control, question, waitMs)
  try {
    const check = async () => isOver(await readAnswered(control, id)) || undefined
    await poll(check, { everyMs: 10, timeoutMs: waitMs })
    return await readAnswers(control, id)
  } finally {
    // If this fails, the question expires.
    await removeQuestion(control, id).catch(() => undefined)
  }
}
