import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Setup } from '../setup.ts'

/** The environment of the operator of a test's installation. */
export const installation = (house: Setup) => ({
  CARTAGE_DATABASE_URL: house.keys.adminUrl,
  CARTAGE_SECRET: house.keys.secret,
  CARTAGE_NAMESPACE: house.service.services.config.namespace,
})

/** Runs the command line in a process of its own. */
export async function cartage(env: Record<string, string>, ...args: readonly string[]) {
  const entry = fileURLToPath(new URL('./cartage.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', entry, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], out, err] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)])
  return { code: code as number, out, err }
}
