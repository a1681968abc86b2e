import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { scriptArgs } from '../support/script.ts'

const run = promisify(execFile)

test('whatever is killed, stopped, cut, held or promoted: no job is lost, nothing happens twice, and what a job says is true', {
  timeout: 480_000,
}, async (t) => {
  const seed = randomInt(2 ** 31)
  const options = `--seed ${seed} --seconds 15 --users 2 --servers 2 --workers 2 --clients 8 --pause 150 --stall 5000`
  t.diagnostic(`again with: npm run chaos -- ${options}`)
  const { stdout } = await run(process.execPath, [...scriptArgs('chaos/run.ts'), ...options.split(' ')], {
    timeout: 420_000,
    killSignal: 'SIGKILL',
  }).catch((error: { stdout: string; stderr: string }) => assert.fail(`${error.stdout}\n${error.stderr}`))
  for (const line of stdout.split('\n')) t.diagnostic(line)
  const count = (name: string) => Number(new RegExp(`^${name} +(\\d+)$`, 'm').exec(stdout)?.[1])
  assert.equal(count('violations'), 0)
  assert.ok(count('jobs') > 8)
})
