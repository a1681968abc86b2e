import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/**
 * Drops everything in the tests' namespace of the cluster, and returns what should have been gone: only the shared
 * control database and its template live as long as the run.
 */
export async function removeNames(url: string, namespace: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const databases = await names(client, 'select datname as name from pg_database', namespace)
    const roles = await names(client, 'select rolname as name from pg_roles', namespace)
    for (const name of databases) await client.query(`drop database "${name}" with (force)`)
    for (const name of roles) await client.query(`drop role "${name}"`)
    const expected = [namespace, `${namespace}_template`]
    return [
      ...databases.filter((name) => !expected.includes(name)).map((name) => `database ${name}`),
      ...roles.map((name) => `role ${name}`),
    ]
  } finally {
    await client.end()
  }
}

async function names(client: pg.Client, query: string, namespace: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from (${query}) as known where starts_with(name, $1) order by name`,
    [namespace],
  )
  return rows.map(({ name }) => name)
}

/** Ends processes that tests started or that work in their folder, and returns their names. */
export async function endProcesses(namespace: string, folder?: string): Promise<string[]> {
  // A child of a test may be about to end.
  for (let waits = 0; waits < 20 && find(namespace, folder).length > 0; waits++) await sleep(100)
  const left = find(namespace, folder)
  const described = left.map(
    (pid) => `process ${pid} (${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()})`,
  )
  for (const pid of left) process.kill(pid, 'SIGKILL')
  return described
}

function find(namespace: string, folder: string | undefined): number[] {
  return processIds().filter((pid) => {
    if (pid === process.pid) return false
    if (read(`/proc/${pid}/environ`).includes(`CARTAGE_TEST_NAMESPACE=${namespace}\0`)) return true
    return folder !== undefined && workingDirectory(pid).startsWith(`${folder}/`)
  })
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function workingDirectory(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
