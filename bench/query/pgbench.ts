import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import type { Frame } from '../frame/frame.ts'

/** Runs one statement repeatedly with pgbench; returns transactions per second. */
export async function pgbench(
  frame: Frame,
  statement: string,
  database: string,
  connections: number,
): Promise<(seconds: number) => Promise<number>> {
  const [binaries] = await findBinaries()
  const script = join(await frame.makeFolder(), 'statement.sql')
  await writeFile(script, `${statement};\n`)
  const url = await frame.urlOf(database)
  return async (seconds) => {
    const options = [
      '-n',
      '-f',
      script,
      '-c',
      String(connections),
      '-j',
      '2',
      '-T',
      String(seconds),
      url.href,
    ]
    const { stdout } = await promisify(execFile)(join(binaries!.directory, 'pgbench'), options)
    return Number(/tps = ([\d.]+) \(without/.exec(stdout)![1])
  }
}
