import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { type MovePhase, movePhases } from '../../../src/contract/admin-names.ts'
import { admin, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { fillAccount } from '../../support/service/rich-account.ts'
import { scriptArgs } from '../../support/service/script.ts'

test('a move that is killed in any phase leaves the user complete on one host and nothing on the other', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const { keys, config } = installation
  const { control } = service.services.databases
  const operator = admin(service)
  t.after(() => operator.close())
  const { api_key: token } = await operator.users.create({ username: 'alice' })
  const alice = createClient({ baseUrl: service.url, username: 'alice', token })
  await fillAccount(alice)
  await alice.sql('create table ballast as select n, md5(n::text) as text from generate_series(1, 50000) n')
  const look = async () =>
    (
      await alice.sql(
        `select count(*), sum(n), min(text), count_cities(), (select count(*) from notes) from ballast`,
      )
    ).rows
  const before = await look()
  const urls = { local: keys.adminUrl, second: cluster.url }
  const outcomes: string[] = []
  for (const killedIn of ['waiting', 'stopping', 'copying', 'checking', 'cleaning'] as const) {
    const { from, to } = await directionOf()
    const child = spawn(process.execPath, [
      ...scriptArgs('test/support/service/killed-move.ts'),
      ...[keys.adminUrl, keys.secret, config.namespace, 'alice', to],
    ])
    child.stderr.resume()
    const exited = once(child, 'exit')
    const [text] = (await once(child.stdout, 'data')) as [Buffer]
    const id = Number(String(text))
    while (!hasReached(await phaseOf(id), killedIn)) {}
    child.kill('SIGKILL')
    await exited
    const move = await untilEnded(operator, id)
    outcomes.push(move.phase)
    const place = move.phase === 'done' ? to : from
    const other = place === 'local' ? 'second' : 'local'
    assert.deepEqual([killedIn, await look()], [killedIn, before])
    assert.deepEqual((await directionOf()).from, place)
    assert.deepEqual([killedIn, await leftOn(urls[other], config.namespace)], [killedIn, []])
  }
  // A move killed before the switch is undone, one killed after it is completed.
  assert.deepEqual([outcomes[2], outcomes.at(-1)], ['failed', 'done'], String(outcomes))

  async function directionOf() {
    const hosts = await operator.hosts.list()
    const from = hosts.find(({ databases }) => databases === 1)!.name as 'local' | 'second'
    return { from, to: from === 'local' ? ('second' as const) : ('local' as const) }
  }

  async function phaseOf(id: number): Promise<MovePhase> {
    const { rows } = await control.query<{ phase: MovePhase }>(
      'select phase from cartage.moves where id = $1',
      [id],
    )
    return rows[0]!.phase
  }
})

const hasReached = (phase: MovePhase, wanted: MovePhase) =>
  movePhases.indexOf(phase) >= movePhases.indexOf(wanted)
