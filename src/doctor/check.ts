import type { CheckStatus } from '../contract/health-names.ts'

export type Check = Readonly<{
  name: string
  status: CheckStatus
  /** What was seen, and what to do where it is not well. */
  advice: string
}>

/** Whoever asks waits for the answer: a host that takes longer counts as silent. */
export const patienceMs = 5_000
