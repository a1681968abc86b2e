import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { scriptArgs } from '../support/service/script.ts'

/**
 * Runs chaos in a small size unless the options say otherwise, with a random seed; returns a function that reads a
 * number of the report by its name.
 */
export async function runShortChaos(
  t: TestContext,
  options: readonly string[],
): Promise<(name: string) => number> {
  const size = '--users 2 --servers 2 --workers 2 --clients 8 --pause 150 --stall 5000'
  const all = ['--seed', String(randomInt(2 ** 31)), ...size.split(' '), ...options]
  t.diagnostic(
    `again with: npm run chaos -- ${all.map((word) => (/ /.test(word) ? `'${word}'` : word)).join(' ')}`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, [...scriptArgs('chaos/run.ts'), ...all], {
    timeout: 420_000,
    killSignal: 'SIGKILL',
  }).catch((error: { stdout: string; stderr: string }) => assert.fail(`${error.stdout}\n${error.stderr}`))
  for (const line of stdout.split('\n')) t.diagnostic(line)
  return (name) => Number(new RegExp(`^${name} +(\\d+)$`, 'm').exec(stdout)?.[1])
}
