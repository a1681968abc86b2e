import type { KeptStatement } from '../../contract/documents.ts'
import type { KeptEntry } from '../../history/history-store.ts'

export const statementDocument = (entry: KeptEntry): KeptStatement => ({
  id: entry.id,
  at: entry.at.toISOString(),
  key: entry.key,
  text: entry.text,
  text_is_cut: entry.isCut,
  outcome: entry.outcome,
  ms: entry.runMs,
  rows: entry.rowCount,
  code: entry.errorCode,
})
