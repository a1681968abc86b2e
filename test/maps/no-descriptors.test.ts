import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { circles, templateOf, writeMap } from '../support/maps/named-api.ts'
import { setup } from '../support/service/setup.ts'

test('a program that cannot start for lack of file descriptors fails one request, and the next succeeds', async (t) => {
  const { user } = await setup(t)
  const file = async (format: string) => {
    const q = 'select 1 as a, st_point(1, 2, 4326) as the_geom'
    const query = new URLSearchParams({ q, format, api_key: user.masterToken })
    const answer = await fetch(`${user.base}/api/v2/sql?${query}`)
    await answer.text()
    return answer.status
  }
  const requests = {
    style: async (name: string) => (await writeMap(user, templateOf(name, { style: [circles()] }))).status,
    topojson: () => file('topojson'),
    gpkg: () => file('gpkg'),
  }
  for (const [name, ask] of Object.entries(requests)) {
    const before = await ask(`${name}-before`)
    const without = await withoutDescriptors(() => ask(`${name}-without`))
    const after = await ask(`${name}-after`)
    assert.deepEqual({ name, before, without, after }, { name, before: 200, without: 500, after: 200 })
  }
})

/**
 * During `work` this process may open four more descriptors: enough for a connection, too few for a program's pipes.
 */
async function withoutDescriptors<T>(work: () => Promise<T>): Promise<T> {
  const limit = (...args: string[]) => execFileSync('prlimit', ['--pid', String(process.pid), ...args])
  const former = limit('--nofile', '--output=SOFT', '--noheadings').toString().trim()
  limit(`--nofile=${readdirSync('/proc/self/fd').length + 50}:`)
  const opened: number[] = []
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'))
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'EMFILE')
  }
  for (const descriptor of opened.splice(0, 4)) closeSync(descriptor)
  try {
    return await work()
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
    limit(`--nofile=${former}:`)
  }
}
