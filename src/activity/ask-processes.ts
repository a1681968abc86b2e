import { countProcesses } from '../auth/lease-store.ts'
import type { Queryable } from '../postgres/transaction.ts'
import { poll } from '../waiting/poll.ts'
import { countAnswers, putQuestion, readAnswers, removeQuestion } from './activity-store.ts'
import type { Answer, Question } from './question.ts'

export type Answers = Readonly<{
  answers: readonly Answer[]
  /** Processes that did not answer in time: stopped, cut off, or just ended. */
  silent: number
}>

/** Asks every process of the installation, and waits for all answers, at most `waitMs`. */
export async function askProcesses(control: Queryable, question: Question, waitMs: number): Promise<Answers> {
  const processes = await countProcesses(control)
  const id = await putQuestion(control, question, waitMs)
  try {
    const areAll = async () => (await countAnswers(control, id)) >= processes || undefined
    await poll(areAll, { everyMs: 10, timeoutMs: waitMs })
    const answers = await readAnswers(control, id)
    return { answers, silent: Math.max(0, processes - answers.length) }
  } finally {
    // If this fails, the question expires.
    await removeQuestion(control, id).catch(() => undefined)
  }
}
