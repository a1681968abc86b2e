import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import type { Frame } from '../frame/frame.ts'
import { seconds } from '../frame/measure.ts'

/** Makes psql write the rows of a statement as CSV repeatedly, on one connection; returns the times per second. */
export async function psqlCopy(
  frame: Frame,
  statement: string,
  database: string,
): Promise<(times: number) => Promise<number>> {
  const [binaries] = await findBinaries()
  const url = await frame.urlOf(database)
  const copy = `copy (${statement}) to stdout with csv header`
  return async (times) => {
    const commands = Array.from({ length: times }, () => ['-c', copy]).flat()
    const options = ['-X', '-q', '-o', '/dev/null', ...commands, url.href]
    const psql = join(binaries!.directory, 'psql')
    return times / (await seconds(() => promisify(execFile)(psql, options)))
  }
}
