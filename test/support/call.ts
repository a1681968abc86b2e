import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { program } from './program.ts'
import type { Setup } from './setup.ts'

/** The environment of the operator of a test's installation. */
export const installation = (house: Setup) => ({
  CARTAGE_DATABASE_URL: house.keys.adminUrl,
  CARTAGE_SECRET: house.keys.secret,
  CARTAGE_NAMESPACE: house.service.services.config.namespace,
})

/** The environment of a person who works with the test's user over HTTP. */
export const connection = (house: Setup) => ({
  CARTAGE_URL: house.url,
  CARTAGE_USER: house.user.username,
  CARTAGE_API_KEY: house.user.masterToken,
})

/** Runs the command line in a process of its own. */
export async function cartage(env: Record<string, string>, ...args: readonly string[]) {
  return beginCartage(env, args).ended
}

/** Begins a command that the test wants to talk to: by signals, or by its standard input. */
export function beginCartage(env: Record<string, string>, args: readonly string[], input?: string) {
  const child = spawn(process.execPath, [...program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(input)
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], out, err]) => ({ code: code as number, out, err }),
  )
  return { child, ended }
}

/** What `cartage` is in a line of a shell. */
export const shellProgram = [process.execPath, ...program].map((word) => `'${word}'`).join(' ')
