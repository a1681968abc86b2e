import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import pg from 'pg'
import { untilLost, untilMoved } from '../../src/accounts/restore/until-lost.ts'
import { Hosts, hostFromUrl } from '../../src/postgres/hosts.ts'
import { sharedCluster } from '../support/service/setup.ts'

const forever = new AbortController().signal

test('work under a lock is given up when the connection with the lock is lost', async (t) => {
  const { url } = await sharedCluster()
  const [holder, killer] = [new pg.Client(url), new pg.Client(url)]
  // As the pool does. It comes more than once.
  holder.on('error', () => undefined)
  await Promise.all([holder.connect(), killer.connect()])
  t.after(() => killer.end())
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
  const work = untilLost(holder, forever, async (signal) => {
    await killer.query('select pg_terminate_backend($1)', [rows[0]!.pid])
    if (!signal.aborted) await once(signal, 'abort', { signal: AbortSignal.timeout(10_000) })
    throw new Error('something that was cut off')
  })
  await assert.rejects(work, /The connection to the control database was lost/)
})

test('work on a view of the hosts is given up when its host is changed', async () => {
  const hosts = new Hosts()
  const at = (port: number) => hostFromUrl(2, 'second', `postgresql://postgres@127.0.0.1:${port}/postgres`)
  hosts.register(at(1))
  hosts.register(hostFromUrl(3, 'third', 'postgresql://postgres@127.0.0.1:3/postgres'))
  const host = hosts.get(2)
  let last!: AbortSignal
  const work = untilMoved(hosts, host, forever, async (signal) => {
    last = signal
    hosts.register(at(1))
    hosts.forget(3)
    signal.throwIfAborted()
    hosts.register(at(2))
    assert.ok(signal.aborted)
  })
  await work
  assert.match(String(last.reason), /The host 'second' was changed/)
  // Changed before the work began.
  await assert.rejects(
    untilMoved(hosts, host, forever, async (signal) => signal.throwIfAborted()),
    /The host 'second' was changed/,
  )
})
