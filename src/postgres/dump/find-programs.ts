import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errors } from '../../errors.ts'

/** PostgreSQL's own programs for dumps, of one version. */
export type DumpPrograms = Readonly<{ dump: string; restore: string }>

const run = promisify(execFile)

/**
 * The oldest pair on this machine that is not older than the server. A program cannot read a newer server, and what a
 * newer one writes an older server may not understand.
 */
export async function findDumpPrograms(serverMajor: number): Promise<DumpPrograms> {
  const root = '/usr/lib/postgresql'
  const ofDebian = (await readdir(root).catch(() => [])).map((version) => join(root, version, 'bin'))
  const found: (DumpPrograms & Readonly<{ major: number }>)[] = []
  for (const directory of [...ofDebian, '']) {
    const [dump, restore] = [join(directory, 'pg_dump'), join(directory, 'pg_restore')]
    const [major, other] = await Promise.all([majorOf(dump), majorOf(restore)])
    if (major !== undefined && major === other && major >= serverMajor) found.push({ dump, restore, major })
  }
  const [best] = found.sort((a, b) => a.major - b.major)
  if (!best)
    throw errors.hostInvalid(
      `pg_dump and pg_restore of PostgreSQL ${serverMajor} are missing on this machine: install postgresql-client-${serverMajor}`,
    )
  return best
}

async function majorOf(program: string): Promise<number | undefined> {
  const version = await run(program, ['--version']).catch(() => undefined)
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(version?.stdout ?? '')?.[1])
  return Number.isInteger(major) ? major : undefined
}
