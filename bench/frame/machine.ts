import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'

/** Where a figure was measured, in a few words. */
export async function describeMachine(): Promise<string> {
  const [binaries] = await findBinaries()
  const { stdout } = await promisify(execFile)(join(binaries?.directory ?? '', 'postgres'), ['--version'])
  const postgres = /\(PostgreSQL\) (\S+)/.exec(stdout)?.[1] ?? 'unknown'
  return `${availableParallelism()} cores, Node ${process.versions.node}, PostgreSQL ${postgres}`
}
