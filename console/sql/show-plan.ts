import { explainStatement, whyNotExplained } from '../../src/sql-text/explain-statement.ts'
import { requestJson } from '../api/request.ts'
import { shorten } from '../parts/format.ts'
import { toast } from '../parts/toast.tsx'
import type { BoundRange } from './parameters/given-values.ts'
import { currentRunAs, type RunAs } from './run-as.ts'
import { runOrAsk } from './runs.ts'
import { rolledBack } from './transaction.ts'

/** Shows the plan. With `isAnalyzed` runs EXPLAIN ANALYZE, if a plain EXPLAIN succeeds first. */
export async function showPlan(draftId: string, statement: BoundRange, isAnalyzed: boolean): Promise<void> {
  const reason = whyNotExplained(statement.text)
  if (reason) return toast(reason)
  const { bound } = statement
  const { plan, analyze, measure } = explainStatement(bound?.text ?? statement.text, 'json')
  const as = currentRunAs()
  const isAccepted = isAnalyzed && (await isAnswered(plan.text, bound?.params, as))
  const { text } = isAccepted ? analyze : plan
  // A refused statement is sent again as plain EXPLAIN, so that its error is shown as usual.
  await runOrAsk({
    draftId,
    statements: [{ ...statement, text, bound: bound && { ...bound, text } }],
    as,
    name: `Plan: ${shorten(statement.text, 34)}`,
    isPlan: true,
    isSingle: !isAccepted,
    // A message of several statements cannot have parameters.
    ...(isAccepted && bound && { feed: rolledBack(as, measure.text, bound.params) }),
  })
}

const isAnswered = (q: string, params: readonly unknown[] | undefined, as: RunAs) =>
  requestJson('query', { as: as.credential, json: { q, params: params ?? [] } }).then(
    () => true,
    () => false,
  )
