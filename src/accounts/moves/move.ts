import type { MovePhase } from '../../contract/admin-names.ts'

/** From which host to which. */
export type Way = Pick<Move, 'fromHostId' | 'toHostId'>

/** An account on its way from one host to another, or one that has arrived: a user, or an organization. */
export type Move = Readonly<{
  id: number
  userId: number | null
  username: string | null
  organizationId: number | null
  organization: string | null
  fromHostId: number
  fromHost: string
  toHostId: number
  toHost: string
  phase: MovePhase
  /** In percent. */
  progress: number
  error: string | null
  createdAt: Date
  /** Since when the account is not served, and when it was served again. */
  stoppedAt: Date | null
  servedAt: Date | null
  endedAt: Date | null
}>

export const hasEnded = ({ phase }: Move) => phase === 'done' || phase === 'failed'

/** The host that has something of the account still to be dropped. The account is served, on the other. */
export function hostWithLeftovers({ phase, servedAt, fromHost, toHost }: Move): string | undefined {
  if (servedAt === null) return undefined
  if (phase === 'cleaning') return fromHost
  return phase === 'undoing' ? toHost : undefined
}

/** The account is on its new host; at most, leftovers on the old host are still to be dropped. */
export const isMoved = ({ phase }: Move) => phase === 'done' || phase === 'cleaning'

export const nameOf = ({ username, organization }: Move) => username ?? organization!

/** For sentences. */
export const kindOf = ({ userId }: Move) => (userId === null ? 'organization' : 'user')
