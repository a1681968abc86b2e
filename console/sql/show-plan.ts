import { explainStatement, whyNotExplained } from '../../src/sql-text/explain-statement.ts'
import type { StatementRange } from '../../src/sql-text/statements.ts'
import { requestJson } from '../api/request.ts'
import { shorten } from '../parts/format.ts'
import { toast } from '../parts/toast.tsx'
import { currentRunAs } from './run-as.ts'
import { type RunAs, runStatements } from './runs.ts'

/** Shows the plan. With `isAnalyzed` runs EXPLAIN ANALYZE, if a plain EXPLAIN succeeds first. */
export async function showPlan(
  draftId: string,
  statement: StatementRange,
  isAnalyzed: boolean,
): Promise<void> {
  const reason = whyNotExplained(statement.text)
  if (reason) return toast(reason)
  const { plan, analyze } = explainStatement(statement.text, 'json')
  const as = currentRunAs()
  const isAccepted = isAnalyzed && (await isAnswered(plan.text, as))
  const { text } = isAccepted ? analyze : plan
  // A refused statement is sent again as plain EXPLAIN, so that its error is shown as usual.
  await runStatements({
    draftId,
    statements: [{ ...statement, text }],
    as,
    name: `Plan: ${shorten(statement.text, 34)}`,
    isPlan: true,
    isSingle: !isAccepted,
  })
}

const isAnswered = (q: string, as: RunAs) =>
  requestJson('query', { as: as.credential, json: { q, params: [] } }).then(
    () => true,
    () => false,
  )
