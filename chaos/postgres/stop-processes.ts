import { setTimeout as sleep } from 'node:timers/promises'
import { serverProcesses, signal } from '../../src/postgres/cluster/processes.ts'
import { giveBack, segmentsOf } from './shared-memory.ts'

/** Stops processes and continues them after a while, except those that ended meanwhile. */
export async function stopForAWhile(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGSTOP')
  await sleep(ms)
  for (const pid of pids) signal(pid, 'SIGCONT')
}

/** Stopped processes must run again before the server can be asked to end. */
export function continueAll(dataPath: string): void {
  for (const pid of serverProcesses(dataPath)) signal(pid, 'SIGCONT')
}

/** Kills the whole server: also backends that have not noticed and stopped ones. */
export async function killAll(dataPath: string): Promise<void> {
  for (;;) {
    const pids = serverProcesses(dataPath)
    if (pids.length === 0) return
    const segments = segmentsOf(pids)
    for (const pid of pids) signal(pid, 'SIGKILL')
    await sleep(10)
    await giveBack(segments)
  }
}
