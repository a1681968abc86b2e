import { createHash } from 'node:crypto'
import type { Dashboard } from './read-dashboard.ts'

/** What alone may be replaced or deleted: the versions that the sender has read, any dashboard, or none. */
export type ExpectedDashboard =
  | Readonly<{ kind: 'version'; versions: readonly string[] }>
  | Readonly<{ kind: 'any' | 'none' }>

/** The version of the content, without times and name: saving the same content again keeps the version. */
export const versionOf = ({ title, description, isPublic, content }: Dashboard): string =>
  createHash('sha256')
    .update(JSON.stringify([title, description, isPublic, content]))
    .digest('base64url')
    .slice(0, 22)

/** A save that finds its own content has been sent twice: its first answer was lost. */
export function mayReplace(
  former: Dashboard | undefined,
  next: Dashboard,
  expected: ExpectedDashboard,
): boolean {
  if (former === undefined) return expected.kind === 'none'
  return versionOf(former) === versionOf(next) || isExpected(former, expected)
}

export const isExpected = (former: Dashboard, expected: ExpectedDashboard): boolean =>
  expected.kind === 'version' ? expected.versions.includes(versionOf(former)) : expected.kind === 'any'
