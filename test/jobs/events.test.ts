import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import type { FullJobDocument } from '../../src/contract/documents.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'

type SeenEvent = Readonly<{ id: string; job: FullJobDocument }>

/** Reads the events of a job until the stream ends. */
async function eventsOf(user: TestUser, id: string, lastId?: string) {
  const response = await fetch(`${user.base}/api/v4/jobs/${id}/events`, {
    headers: {
      ...basic(user.username, user.masterToken),
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
  })
  const events: SeenEvent[] = []
  const comments: string[] = []
  const read = async () => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const [, eventId, data] = /^id: (.+)\ndata: (.+)$/.exec(block) ?? []
        if (data !== undefined) events.push({ id: eventId!, job: JSON.parse(data) as FullJobDocument })
        else comments.push(block)
      }
    }
  }
  return { response, events, comments, ended: read() }
}

test('a job sends its document as an event at each change, and ends with the final one', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const before = await api.submit({ query: 'select pg_sleep(1.5)' })
  const { job_id: id } = await api.submit({ query: ['select 1', 'select pg_sleep(1.5)', 'select 2'] })
  const stream = await eventsOf(user, id)
  assert.equal(stream.response.status, 200)
  assert.equal(stream.response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  await stream.ended
  const jobs = stream.events.map(({ job }) => job)
  assert.deepEqual(jobs[0]!.position, { ahead: 1, is_host_busy: false }, JSON.stringify(before))
  assert.ok(jobs.some(({ status, progress }) => status === 'running' && progress?.item === 2))
  assert.deepEqual(jobs.at(-1), await api.read(id))
  assert.equal(jobs.filter(({ status }) => status === 'done').length, 1)
  assert.equal(new Set(stream.events.map((event) => event.id)).size, stream.events.length)
})

test('Last-Event-ID continues after that event, and after the final one nothing is sent', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const { job_id: id } = await api.submit({ query: 'select pg_sleep(3)' })
  await eventually(async () => assert.ok((await api.read(id)).progress))
  const first = await eventsOf(user, id)
  await eventually(() => assert.ok(first.events.at(-1)?.job.status === 'running'))
  const second = await eventsOf(user, id, first.events.at(-1)!.id)
  await Promise.all([first.ended, second.ended])
  assert.ok(!second.events.some((event) => event.id === first.events[0]!.id && event.job.status !== 'done'))
  assert.equal(second.events.at(-1)!.job.status, 'done')
  const over = await eventsOf(user, id, second.events.at(-1)!.id)
  await over.ended
  assert.deepEqual([over.response.status, over.events], [204, []])
  const late = await eventsOf(user, id)
  await late.ended
  assert.deepEqual(
    late.events.map(({ job }) => job.status),
    ['done'],
  )
})

test('the stream has a comment every 15 seconds and ends when its key is revoked', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  const { job_id: id } = await api.submit({ query: 'select pg_sleep(600)' })
  const stream = await eventsOf(user, id)
  const startedAt = performance.now()
  await eventually(() => assert.ok(stream.comments.includes(':')), 20_000)
  assert.ok(performance.now() - startedAt > 10_000)
  const regenerated = await api.call<{ token: string }>(
    'POST',
    `${user.base}/api/v3/api_keys/Master/token/regenerate`,
  )
  assert.equal(regenerated.status, 200)
  await stream.ended
  const { status } = await fetch(`${user.base}/api/v4/jobs/${id}/events`, {
    headers: basic(user.username, user.masterToken),
  })
  assert.equal(status, 401)
})

test('a job that is unknown or of another account has no events', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const { job_id: id } = await fullJobApi(other).submit({ query: 'select 1' })
  for (const unknown of [id, '00000000-0000-4000-8000-000000000000', 'x']) {
    const { response, ended } = await eventsOf(user, unknown)
    await ended
    assert.equal(response.status, 404)
  }
})

test('1,000 followers need one LISTEN, and all of them see the end', async (t) => {
  const { user, admin, service } = await setup(t, { worker: true })
  const api = fullJobApi(user)
  await user.sql('create table gate (n int)')
  const { job_id: id } = await api.submit({
    query: `do $$ begin loop exit when exists (select from gate); perform pg_sleep(0.1); end loop; end $$`,
  })
  await eventually(async () => assert.equal((await api.read(id)).status, 'running'))
  const streams: Awaited<ReturnType<typeof eventsOf>>[] = []
  // The kernel refuses connections beyond 511 that the service has not accepted yet.
  while (streams.length < 1_000)
    streams.push(...(await Promise.all(Array.from({ length: 200 }, () => eventsOf(user, id)))))
  assert.ok(streams.every(({ response }) => response.status === 200))
  const { rows } = await admin(
    `select count(*)::int as n from pg_stat_activity where datname = $1 and query ~* 'listen cartage_followed'`,
    [service.services.config.namespace],
  )
  assert.ok(rows[0].n <= 1)
  const another = await eventsOf(user, id)
  await another.ended
  assert.equal(another.response.status, 429)
  await user.sql('insert into gate values (1)')
  await Promise.all(streams.map(({ ended }) => ended))
  assert.ok(streams.every(({ events }) => events.at(-1)!.job.status === 'done'))
})

/** Follows a job on new connections with the smallest buffers until one is refused. Reads only each status. */
const followWithoutReading = `
import socket, sys
host, port, request = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
kept, status = [], b'200'
while status == b'200' and len(kept) < 100:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    one.connect((host, port))
    one.sendall(request)
    status = one.recv(12)[9:]
    kept.append(one)
print(len(kept), status.decode(), flush=True)
sys.stdin.read()
`

test('a follower that has not read the end of its job counts towards the 64 MB, beyond which others are refused', async (t) => {
  const { user } = await setup(t)
  const api = fullJobApi(user)
  const { job_id: id } = await api.submit({ query: Array(10_000).fill(`select '${'x'.repeat(70)}'`) })
  await api.call('DELETE', api.path(id))
  const bytes = JSON.stringify(await api.read(id)).length
  const { hostname, port, pathname } = new URL(user.base)
  const { authorization } = basic(user.username, user.masterToken)
  const request = `GET ${pathname}/api/v4/jobs/${id}/events HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${authorization}\r\n\r\n`
  const followers = spawn('python3', ['-c', followWithoutReading, hostname, port, request])
  t.after(() => followers.kill())
  const [line] = (await once(followers.stdout, 'data')) as [Buffer]
  const [count, status] = String(line).trim().split(' ')
  assert.equal(status, '429', String(line))
  assert.ok(Number(count) * bytes > 64 * 1024 ** 2, `${line} of ${bytes}`)
  followers.stdin.end()
  await eventually(async () => {
    const { response, events, ended } = await eventsOf(user, id)
    await ended
    assert.deepEqual([response.status, events.length], [200, 1])
  })
})

/** Follows a job on this many connections with the smallest buffers; reads only the first event of each. */
const readOneEvent = `
import socket, sys
host, port, request, count = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), int(sys.argv[4])
kept = []
for _ in range(count):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    one.connect((host, port))
    one.sendall(request)
    text = b''
    while b'data: ' not in text or not text.endswith(b'\\n\\n\\r\\n'):
        text += one.recv(4096)
    kept.append(one)
print(len(kept), flush=True)
sys.stdin.read()
`

test('followers that stop reading may hold 64 MB; others are told when there is room again', async (t) => {
  const { user, service } = await setup(t)
  const api = fullJobApi(user)
  const { job_id: id } = await api.submit({ query: 'select 1' })
  const { hostname, port, pathname } = new URL(user.base)
  const { authorization } = basic(user.username, user.masterToken)
  const request = `GET ${pathname}/api/v4/jobs/${id}/events HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${authorization}\r\n\r\n`
  const followers = spawn('python3', ['-c', readOneEvent, hostname, port, request, '200'])
  t.after(() => followers.kill())
  await once(followers.stdout, 'data')
  const reader = await eventsOf(user, id)
  const { jobFollowers } = service.services
  const { accountWaitingBytes, leave } = (await jobFollowers.follow(user.account, id, {
    onState: () => undefined,
    waitingBytes: () => 0,
  }))!
  t.after(leave)
  const long = await api.call('PUT', api.path(id), {
    query: Array(10_000).fill(`select '${'x'.repeat(70)}'`),
  })
  const bytes = JSON.stringify(long.body).length
  const waiting = await eventually(() => {
    const sum = accountWaitingBytes()
    assert.ok(sum > 48 * 1024 ** 2, String(sum))
    return sum
  })
  assert.ok(waiting <= 64 * 1024 ** 2 + 2 * bytes, `${waiting}, an event has ${bytes}`)
  followers.kill()
  await eventually(() => assert.equal((reader.events.at(-1)!.job.query as unknown[]).length, 10_000))
  await api.call('DELETE', api.path(id))
  await reader.ended
})

test('the client follows a job and its progress to the end', async (t) => {
  const bundle = await setup(t, { worker: true })
  const client = clientOf(t, bundle)
  const { job_id: id } = await client.jobs.create(['select 1', 'select pg_sleep(1.5)'])
  const seen: FullJobDocument[] = []
  for await (const job of client.jobs.follow(id)) seen.push(job)
  assert.equal(seen.at(-1)!.status, 'done')
  assert.ok(seen.some(({ progress }) => progress?.items === 2))
  const stop = new AbortController()
  const { job_id: endless } = await client.jobs.create('select pg_sleep(600)')
  await assert.rejects(async () => {
    for await (const job of client.jobs.follow(endless, { signal: stop.signal }))
      if (job.status === 'running') stop.abort(new Error('enough'))
  }, /enough/)
  await assert.rejects(
    async () => {
      for await (const _job of client.jobs.follow('00000000-0000-4000-8000-000000000000')) assert.fail()
    },
    { code: 'job-not-found' },
  )
})
