import type { CheckStatus } from '../contract/health-names.ts'

export type Check = Readonly<{
  name: string
  status: CheckStatus
  /** What was found, and what to do about it. */
  advice: string
}>

/** An operator waits for the answer: a slower host counts as silent. */
export const patienceMs = 5_000
