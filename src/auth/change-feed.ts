import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool } from 'pg'
import type { Log } from '../log/log.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { leaseMs } from './cache-lease.ts'
import { type LeaseBehind, leasesBehind, numberChange, removeUnrenewed, tellChange } from './lease-store.ts'

/** Part of the transaction that changes an account or a key. */
export async function announceChange(tx: ClientBase): Promise<void> {
  await tellChange(tx)
}

/**
 * After the commit, before the answer: waits until no process trusts a cache from before the change. A lease renewed
 * after the change got its number confirms it. A lease renewed before that has expired once `leaseMs` have passed on
 * this process's clock, so no two clocks are compared. Fails only if the change could not be numbered.
 */
export async function awaitCaches(control: Pool, log: Log): Promise<void> {
  const change = await answerWithin(answerMs, numberChange(control))
  const deadline = performance.now() + leaseMs + clockToleranceMs
  // Without an answer, assume that a lease is behind and wait for the full term.
  const readBehind = () =>
    answerWithin(Math.max(0, deadline - performance.now()), leasesBehind(control, change)).catch(
      () => unknown,
    )
  const first = await readBehind()
  let behind = first
  for (let pauseMs = 1; behind.length > 0 && performance.now() < deadline; pauseMs = nextPause(pauseMs)) {
    await sleep(Math.min(pauseMs, Math.max(0, deadline - performance.now())))
    behind = await readBehind()
  }
  if (behind.length > 0) await giveUp(control, log, first)
}

const unknown: readonly LeaseBehind[] = [{ id: '0', renewals: '0' }]
const nextPause = (pauseMs: number) => Math.min(2 * pauseMs, longestPauseMs)

/** The leases have expired. Removes those not renewed since, so that they delay no further change. */
async function giveUp(control: Pool, log: Log, leases: readonly LeaseBehind[]): Promise<void> {
  log.warn('a process did not confirm a change of accounts before its lease ran out')
  await answerWithin(answerMs, removeUnrenewed(control, leases)).catch(() => undefined)
}

/** More than two sound clocks can differ within one term. */
const clockToleranceMs = 50
const longestPauseMs = 50
const answerMs = 5_000
