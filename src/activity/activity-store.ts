import type { Queryable } from '../postgres/transaction.ts'
import type { ActivityAnswer, ActivityQuestion, ProcessAnswer } from './question.ts'

export const activityChannel = 'cartage_activity'

/** Asks all processes. They answer by `writeAnswer` until the question expires or is removed. */
export async function putQuestion(
  control: Queryable,
  asked: ActivityQuestion,
  lifeMs: number,
): Promise<string> {
  const { rows } = await control.query<{ id: string }>(
    `with former as (delete from cartage.activity_questions where expires_at < clock_timestamp()),
     question as (
       insert into cartage.activity_questions (asked, expires_at)
       values ($1, clock_timestamp() + $2::float8 * interval '1 millisecond') returning id
     )
     select id, cartage.tell($3, id::text) from question`,
    [JSON.stringify(asked), lifeMs, activityChannel],
  )
  return rows[0]!.id
}

/** Undefined: the caller no longer waits for the answer. */
export async function findQuestion(control: Queryable, id: string): Promise<ActivityQuestion | undefined> {
  const { rows } = await control.query<{ asked: ActivityQuestion }>(
    'select asked from cartage.activity_questions where id = $1 and expires_at > clock_timestamp()',
    [id],
  )
  return rows[0]?.asked
}

/** Writes nothing if the question is gone. */
export async function writeAnswer(
  control: Queryable,
  questionId: string,
  process: string,
  answer: ActivityAnswer,
): Promise<void> {
  await control.query(
    `insert into cartage.activity_answers (question_id, process, answer)
     select id, $2, $3 from cartage.activity_questions where id = $1 for key share
     on conflict do nothing`,
    [questionId, process, JSON.stringify(answer)],
  )
}

/** The names of the processes that have answered. */
export async function readAnswered(control: Queryable, questionId: string): Promise<readonly string[]> {
  const { rows } = await control.query<{ process: string }>(
    'select process from cartage.activity_answers where question_id = $1',
    [questionId],
  )
  return rows.map(({ process }) => process)
}

export async function readAnswers(control: Queryable, questionId: string): Promise<readonly ProcessAnswer[]> {
  const { rows } = await control.query<{ process: string; answer: ActivityAnswer }>(
    'select process, answer from cartage.activity_answers where question_id = $1',
    [questionId],
  )
  return rows.map(({ process, answer }) => ({ ...answer, process }))
}

/** With its answers. */
export async function removeQuestion(control: Queryable, id: string): Promise<void> {
  await control.query('delete from cartage.activity_questions where id = $1', [id])
}
