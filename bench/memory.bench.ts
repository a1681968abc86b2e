import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { processUse } from './frame/process-use.ts'
import { prepareAccount } from './query/bench-account.ts'

export const entries: readonly Entry[] = [
  {
    name: 'idle-memory',
    title: 'Memory of a service process that has answered a query and has nothing to do',
    baseline: 'a process of Node that does nothing',
    unit: 'MB',
    aim: '80 MB or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const { service, urlOf } = await prepareAccount(frame)
      const bare = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
      frame.after(async () => {
        bare.kill()
        await once(bare, 'exit')
      })
      await (await fetch(urlOf('select 1'))).arrayBuffer()
      return {
        baseline: () => restingMb(bare.pid!),
        ours: () => restingMb(service.pid),
      }
    }),
  },
]

/** After a while, because freed memory goes back to the system during idle time. */
async function restingMb(pid: number): Promise<number> {
  await sleep(5_000)
  return processUse(pid).rssBytes / 1024 ** 2
}
