import { readUserUsage, userUsageAsCsv } from '../api/operator.ts'
import { UsagePanel } from '../parts/usage-panel.tsx'

/** The use of one user. */
export function UserUsage({ username }: Readonly<{ username: string }>) {
  return (
    <UsagePanel
      username={username}
      read={(signal) => readUserUsage(username, signal)}
      readCsv={() => userUsageAsCsv(username)}
    />
  )
}
