import type { UsageDocument } from '../../src/contract/documents.ts'
import { requestJson, requestText } from '../api/request.ts'
import { session } from '../api/session.ts'
import { UsagePanel } from '../parts/usage-panel.tsx'

/** The use of the account. */
export function OwnUsage() {
  return (
    <UsagePanel
      username={session.value!.username}
      read={(signal) => requestJson<UsageDocument>('readUsage', { signal })}
      readCsv={() => requestText('readUsage', { query: { format: 'csv' } })}
    />
  )
}
