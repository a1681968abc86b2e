import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase, Pool } from 'pg'
import type { Log } from '../log.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { leaseMs } from './cache-lease.ts'
import { type LeaseBehind, leasesBehind, numberChange, removeUnrenewed, tellChange } from './lease-store.ts'

/** Part of the transaction that changes an account or a key. */
export async function announceChange(tx: ClientBase): Promise<void> {
  await tellChange(tx)
}

/**
 * After the commit and before the answer: waits until no process trusts what it knew before the change. A process that
 * renews its lease after the change got its number knows of it, and confirms it. A lease that was renewed before has run
 * out when the time of a lease has passed on the clock of this process; so no clock is compared with another. Fails only
 * when the change could not be numbered.
 */
export async function awaitCaches(control: Pool, log: Log): Promise<void> {
  const change = await answerWithin(answerMs, numberChange(control))
  const deadline = performance.now() + leaseMs + clockToleranceMs
  // Without an answer nothing is known of anybody, so the time of a lease has to pass.
  const look = () =>
    answerWithin(Math.max(0, deadline - performance.now()), leasesBehind(control, change)).catch(
      () => unknown,
    )
  const first = await look()
  let behind = first
  for (let pauseMs = 1; behind.length > 0 && performance.now() < deadline; pauseMs = nextPause(pauseMs)) {
    await sleep(Math.min(pauseMs, Math.max(0, deadline - performance.now())))
    behind = await look()
  }
  if (behind.length > 0) await giveUp(control, log, first)
}

const unknown: readonly LeaseBehind[] = [{ id: '0', renewals: '0' }]
const nextPause = (pauseMs: number) => Math.min(2 * pauseMs, longestPauseMs)

/** The leases have run out. Those that nobody renews hold up no further change. */
async function giveUp(control: Pool, log: Log, leases: readonly LeaseBehind[]): Promise<void> {
  log.warn('a process did not confirm a change of accounts before its lease ran out')
  await answerWithin(answerMs, removeUnrenewed(control, leases)).catch(() => undefined)
}

/** More than two sound clocks can differ in the time of a lease. */
const clockToleranceMs = 50
const longestPauseMs = 50
const answerMs = 5_000
