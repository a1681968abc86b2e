import type { MovePhase } from '../../contract/admin-names.ts'

/** From which host to which. */
export type Way = Pick<Move, 'fromHostId' | 'toHostId'>

/** A user on its way from one host to another, or one that has arrived. */
export type Move = Readonly<{
  id: number
  userId: number
  username: string
  fromHostId: number
  fromHost: string
  toHostId: number
  toHost: string
  phase: MovePhase
  /** In percent. */
  progress: number
  error: string | null
  createdAt: Date
  /** Since when the user is not served, and when it was served again. */
  stoppedAt: Date | null
  servedAt: Date | null
  endedAt: Date | null
}>

export const hasEnded = ({ phase }: Move) => phase === 'done' || phase === 'failed'
