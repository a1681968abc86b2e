import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

export const projectRoot = join(import.meta.dirname, '../..')
export const adminToken = 'an admin token for benchmarks'
export const secret = 'a secret for benchmarks, never for anything else'

export type RunningService = Readonly<{
  url: string
  pid: number
  adminToken: string
  /** Calls the admin API; a status of 400 or more is an error. */
  admin: (method: string, path: string, body?: unknown) => Promise<unknown>
  stop: () => Promise<void>
}>

/** Starts `cartage serve` as its own process on a free port, and waits until it is ready. */
export async function spawnService(env: Readonly<Record<string, string>>): Promise<RunningService> {
  const child = spawn(process.execPath, [join(projectRoot, 'scripts/cartage.mjs'), 'serve'], {
    env: {
      ...withoutConfiguration(process.env),
      CARTAGE_PORT: '0',
      CARTAGE_LOG_LEVEL: 'error',
      CARTAGE_ADMIN_TOKEN: adminToken,
      CARTAGE_SECRET: secret,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await readUrl(child.stdout)
  await waitUntilReady(url)
  return {
    url,
    pid: child.pid as number,
    adminToken,
    admin: (method, path, body) => askAdmin(`${url}/admin/v1${path}`, method, body),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function readUrl(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) {
    const url = /listens on (http[^\s"]+)/.exec(line)?.[1]
    if (url === undefined) continue
    // Read on, or its later output would fill the pipe.
    output.resume()
    return url
  }
  throw new Error('the service ended before it listened')
}

async function waitUntilReady(url: string): Promise<void> {
  while (
    !(await fetch(`${url}/health/ready`).then(
      (answer) => answer.ok,
      () => false,
    ))
  )
    await sleep(5)
}

async function askAdmin(url: string, method: string, body: unknown): Promise<unknown> {
  const answer = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${adminToken}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? undefined : answer.json()
}

function withoutConfiguration(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('CARTAGE_')))
}
