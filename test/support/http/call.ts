import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { isOperatorCommand } from '../../../src/cli/service-commands.ts'
import { program, userProgram } from '../service/program.ts'
import type { Setup } from '../service/setup.ts'

/** The environment of the operator of a test's installation. */
export const installation = (house: Setup) => ({
  CARTAGE_DATABASE_URL: house.keys.adminUrl,
  CARTAGE_SECRET: house.keys.secret,
  CARTAGE_NAMESPACE: house.service.services.config.namespace,
})

/** The environment of a person who uses the test's account over HTTP. */
export const connection = (house: Setup) => ({
  CARTAGE_URL: house.url,
  CARTAGE_USER: house.user.username,
  CARTAGE_API_KEY: house.user.masterToken,
})

/**
 * Runs the command line in its own process. One that never ends, such as `serve`, has no exit code after five minutes.
 */
export async function cartage(env: Record<string, string>, ...args: readonly string[]) {
  return beginCartage(env, args, undefined, 300_000).ended
}

/** Starts a command that the test controls by signals or standard input. */
export function beginCartage(
  env: Record<string, string>,
  args: readonly string[],
  input?: string,
  timeout?: number,
) {
  const child = spawn(process.execPath, [...programOf(args), ...args], {
    cwd: home,
    env: { ...process.env, ...ownFolders, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout,
    killSignal: 'SIGKILL',
  })
  child.stdin.end(input)
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], out, err]) => ({ code: code as number, out, err }),
  )
  return { child, ended }
}

const programOf = (args: readonly string[]) => (isOperatorCommand(args) ? program : [userProgram])

/** Without profiles and history of the person who runs the tests. */
const home = await mkdtemp(join(tmpdir(), 'cartage-home-'))
const ownFolders = { XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state') }

/** A call of `cartage` as a shell line. */
export const shellLine = (...args: readonly string[]) =>
  [process.execPath, ...programOf(args), ...args]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    .join(' ')

export type TestTerminal = Readonly<{
  /** All output so far. */
  shown: () => string
  type: (keys: string) => void
  /** The exit code. */
  ended: Promise<number>
}>

const plainTerminal = { SHELL: '/bin/sh', TERM: 'xterm', NO_COLOR: '1', PAGER: 'cat' }

/** Runs shell lines in a pseudo terminal with this many columns, without colours. */
export function inTerminal(
  t: TestContext,
  env: Record<string, string>,
  lines: string,
  { columns = 80 }: { columns?: number } = {},
): TestTerminal {
  // Ctrl-C reaches the shell too: without a trap some shells exit, whatever the command did with it.
  const script = `trap : INT; stty cols ${columns} rows 24; ${lines}`
  const child = spawn('script', ['-qec', script, '/dev/null'], {
    cwd: home,
    env: { ...process.env, ...ownFolders, ...plainTerminal, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill())
  let shown = ''
  child.stdout.on('data', (chunk) => {
    shown += chunk
  })
  const ended = once(child, 'close').then(([code]) => code as number)
  return { shown: () => shown, type: (keys) => child.stdin.write(keys), ended }
}
