import { explainStatement, whyNotExplained } from '../../src/contract/text/explain-statement.ts'
import type { Statement } from '../../src/contract/text/statements.ts'
import { requestJson } from '../api/request.ts'
import { toast } from '../parts/toast.tsx'
import { currentRunAs } from './run-as.ts'
import { type RunAs, runStatements } from './runs.ts'

/** The plan; or, once PostgreSQL has taken the statement as one that has a plan, that of carrying it out. */
export async function showPlan(draftId: string, statement: Statement, isCarriedOut: boolean): Promise<void> {
  const reason = whyNotExplained(statement.text)
  if (reason) return toast(reason)
  const { plan, analyze } = explainStatement(statement.text, 'json')
  const as = currentRunAs()
  const isTaken = isCarriedOut && (await isAnswered(plan.text, as))
  const { text } = isTaken ? analyze : plan
  // What was not taken is sent once more as a plan alone, so that its error is shown as any other.
  await runStatements({
    draftId,
    statements: [{ ...statement, text }],
    as,
    isPlan: true,
    isSingle: !isTaken,
  })
}

const isAnswered = (q: string, as: RunAs) =>
  requestJson('query', { as: as.credential, json: { q, params: [] } }).then(
    () => true,
    () => false,
  )
