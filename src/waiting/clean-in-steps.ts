import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats `cleanSome` while it answers that something is left. The pauses let the work of others pass. */
export async function cleanInSteps(
  cleanSome: () => Promise<boolean>,
  isStopped: () => boolean,
): Promise<void> {
  while (!isStopped() && (await cleanSome())) await sleep(pauseMs, undefined, { ref: false })
}

const pauseMs = 200
