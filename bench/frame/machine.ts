import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries } from '../../src/postgres/find-binaries.ts'

export type Machine = Readonly<{ cores: number; node: string; postgres: string }>

export async function describeMachine(): Promise<Machine> {
  const [binaries] = await findBinaries()
  const { stdout } = await promisify(execFile)(join(binaries?.directory ?? '', 'postgres'), ['--version'])
  return {
    cores: availableParallelism(),
    node: process.versions.node,
    postgres: /\(PostgreSQL\) (\S+)/.exec(stdout)?.[1] ?? 'unknown',
  }
}
