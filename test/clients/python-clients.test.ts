import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { setup, type TestUser } from '../support/service/setup.ts'

/** Runs the clients themselves if they are installed; recordings.test.ts replays what they sent elsewhere. */
const run = promisify(execFile)

for (const [client, expected] of [
  [
    'carto-python',
    {
      rows: [{ a: 1, b: '100%' }],
      job: 'done',
      'job cancelled': 'cancelled',
      'cancelled again': "CartoException: ['Cannot set status from cancelled to cancelled']",
      'copied in': 1000,
      'copied out': 'x,-1\nrow 0,0\nrow 1,1\n',
      key: ['reader', 'regular', ['sql'], ['geocoding']],
      'key tables': [['public', 'places', ['insert', 'select']]],
      'created twice': 'UnprocessableEntityError: Validation failed: Name has already been taken',
      deleted: 'NotFoundException: API key not found: reader',
      valid: true,
      'not valid': false,
      public: 'PUBLIC',
    },
  ],
  [
    'cartoframes',
    {
      uploaded: 'cities',
      'has table': [true, false],
      rows: [
        ['Madrid', 3223000, 'POINT (-3.7 40.4)'],
        [`It's 100% "it"`, 2, 'POINT (1 2)'],
        [null, 3, 'None'],
      ],
      tables: ['cities'],
      described: { privacy: 'PRIVATE', num_rows: 6, geom_type: 'point' },
      public: 'PUBLIC',
      renamed: [false, true, true],
      key: [true, true, ['cities']],
      query: [{ n: 6 }],
    },
  ],
] as const) {
  const missing = await reasonToSkip(client)
  test(`${client} does all that its users do${missing ? ` [NOT RUN: ${missing}]` : ''}`, async (t) => {
    if (missing) return t.skip(missing)
    const { user } = await setup(t, { worker: true })
    const seen = await drive(t, client, user)
    const looked = Object.fromEntries(Object.keys(expected).map((name) => [name, seen[name]]))
    assert.deepEqual(looked, expected)
  })
}

async function drive(t: TestContext, client: string, user: TestUser): Promise<Record<string, unknown>> {
  // It stores settings there.
  const home = await mkdtemp(join(tmpdir(), 'cartage-python-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const driver = `test/clients/drivers/use-${client}.py`
  const { stdout } = await run('python3', [driver, user.base, user.masterToken], {
    env: { ...process.env, HOME: home },
    timeout: 300_000,
  })
  return JSON.parse(stdout) as Record<string, unknown>
}

async function reasonToSkip(client: string): Promise<string | undefined> {
  const module = client === 'carto-python' ? 'carto.auth' : 'cartoframes'
  return run('python3', ['-c', `import ${module}`]).then(
    () => undefined,
    () => `${client} is not installed`,
  )
}
