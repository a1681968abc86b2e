import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { seededRandom } from '../../chaos/random.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { mutateFile, originalFiles } from '../support/imports/mutate-file.ts'
import { cases } from '../support/search/cases.ts'
import { eventually, type TestUser } from '../support/service/setup.ts'

const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)

test('mutated files of every kind give tables or an error code, and leave nothing behind', {
  timeout: 3_600_000,
}, async (t) => {
  const house = await setupImports(t)
  const { load, nothingLeft, createUser, url, spool, user } = house
  const count = cases(24)
  t.diagnostic(`CARTAGE_TEST_SEED=${seed} files=${count}`)
  const originals = originalFiles()
  const ends: Record<string, number> = {}
  let next = 0
  // A user has one import running at a time, a process two.
  const work = async (importer: TestUser) => {
    const made: string[] = []
    for (let number = next++; number < count; number = next++) {
      const random = seededRandom(seed + number)
      const original = originals[number % originals.length]!
      const said = `CARTAGE_TEST_SEED=${seed}, file ${number}: ${original.name}`
      const ended = await load(original.name, mutateFile(original, random), {}, importer)
      const text = JSON.stringify(ended.get_error_text)
      assert.ok(ended.success !== undefined, `${said} is ${ended.state}`)
      assert.ok(
        ended.success || (ended.error_code! > 1_000 && ended.error_code !== 99_999),
        `${said}: ${text}`,
      )
      assert.doesNotMatch(text, new RegExp(`${spool}|/work/|/program/|node_modules`), said)
      ends[ended.error_code ?? 'complete'] = (ends[ended.error_code ?? 'complete'] ?? 0) + 1
      made.push(...ended.table_names)
    }
    assert.deepEqual(await tablesOf(importer), made.sort())
  }
  await Promise.all([work(user), work(await createUser())])
  t.diagnostic(JSON.stringify(ends))
  await nothingLeft()
  await eventually(async () => assert.deepEqual(await converters(spool), []))
  assert.equal((await fetch(`${url}/health/ready`)).status, 200)
})

async function tablesOf(user: TestUser): Promise<string[]> {
  const { rows } = await user.sql(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind = 'r' order by 1`,
    [user.account.schema],
  )
  return rows.map(({ name }) => String(name)).sort()
}

/** Programs that were started for a file in this spool. */
async function converters(spool: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')
    if (line.includes(spool)) found.push(line.replaceAll('\0', ' '))
  }
  return found
}
