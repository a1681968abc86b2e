import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { Installation } from './installation.ts'
import { program } from './program.ts'
import type { Setup } from './setup.ts'

export type RunningProcess = Readonly<{
  pid: number
  /** The address where it listens; empty for a worker. */
  url: string
  /** What it logged until it was ready. */
  log: () => string
  /** Sends SIGTERM; returns the exit code. */
  stop: () => Promise<number | null>
  kill: () => Promise<void>
  /** Its exit code, once it has ended by itself. */
  ended: Promise<number | null>
  /** SIGSTOP and SIGCONT. */
  pause: () => void
  resume: () => void
}>

/** Starts `cartage <command>` of an installation and waits until it serves or works. */
export async function startProcess(
  t: TestContext,
  { config, keys }: Pick<Installation, 'config' | 'keys'>,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  before: readonly string[] = [],
): Promise<RunningProcess> {
  const wanted = {
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_ADMIN_TOKEN: keys.adminToken,
    CARTAGE_NAMESPACE: config.namespace,
    CARTAGE_CONNECTIONS_PER_HOST: '6',
    ...env,
  }
  return startCartage(t, command, wanted, program, before)
}

/** The address of the user at another process of the same service. */
export async function atOtherProcess(t: TestContext, { user, service, keys }: Setup): Promise<string> {
  const { config } = service.services
  const { url } = await startProcess(t, { config, keys }, ['serve', '--no-worker'])
  return `${url}/user/${user.username}`
}

/** Starts `cartage <command>` in its own process with only this configuration, and waits until it is ready. */
export async function startCartage(
  t: TestContext,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  node: readonly string[] = program,
  before: readonly string[] = [],
): Promise<RunningProcess> {
  const [file, ...args] = [...before, process.execPath, ...node, ...command]
  const child = spawn(file!, args, {
    env: { PATH: process.env.PATH, CARTAGE_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(child, 'exit').then(([code]) => code as number | null)
  t.after(() => end(child, 'SIGKILL', gone))
  let log = ''
  child.stdout.on('data', (chunk) => {
    log += chunk
  })
  return {
    pid: child.pid!,
    log: () => log,
    url: await sayReady(child, gone),
    ended: gone,
    stop: () => end(child, 'SIGTERM', gone),
    kill: async () => {
      await end(child, 'SIGKILL', gone)
    },
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals, gone: Promise<number | null>) {
  child.kill(signal)
  return gone
}

async function sayReady(child: ChildProcess, gone: Promise<number | null>): Promise<string> {
  const ready = new Promise<string>((resolve) => {
    const lines = createInterface({ input: child.stdout! })
    lines.on('line', (line) => {
      if (line.includes('"msg":"ready"')) resolve((JSON.parse(line) as { url: string }).url)
    })
  })
  const died = gone.then((code) => {
    throw new Error(`the process ended with ${code} before it was ready`)
  })
  return Promise.race([ready, died])
}
