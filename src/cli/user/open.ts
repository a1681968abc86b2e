import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { printResult } from '../run-program.ts'
import type { UserCommand } from './command.ts'
import { findPlace } from './profile/access.ts'

export const openCommand: UserCommand = {
  name: 'open',
  summary: 'open the console in the browser',
  run: async (call) => {
    const { url } = await findPlace(call)
    const address = `${url.replace(/\/+$/, '')}/console/`
    printResult(call, { document: { url: address }, lines: [address] })
    if (!call.terminal.canAsk) return
    const opener = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
    const child = spawn(opener, [address], { stdio: 'ignore', detached: true })
    // Without a browser the person can copy the address.
    await Promise.race([once(child, 'spawn'), once(child, 'error')]).catch(() => undefined)
    child.unref()
  },
}
