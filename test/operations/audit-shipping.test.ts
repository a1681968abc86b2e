import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { auditFile } from '../../src/audit/audit-file.ts'
import { AuditShipper } from '../../src/audit/audit-shipper.ts'
import { recordAudit } from '../../src/audit/audit-store.ts'
import { auditSyslog } from '../../src/audit/audit-syslog.ts'
import { readConfig } from '../../src/config/config.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { createLog } from '../../src/log/log.ts'
import { runSql, withDatabase } from '../support/runner/namespace.ts'
import { newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('each record is written once to the file, which is recreated after it was moved; a broken file stops nothing', async (t) => {
  const path = join(await newFolder(t), 'audit.ndjson')
  const bundle = await setup(t, { isIsolated: true, config: { auditFile: path } })
  const { service, user } = bundle
  const { control } = service.services.databases
  const note = (subject: string) => recordAudit(control, { actor: 'test', action: 'key.created', subject })
  const subjects = async (file: string) =>
    (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ actor }) => actor === 'test')
      .map(({ subject }) => subject)
      .toSorted()
  await Promise.all(Array.from({ length: 40 }, (_, n) => note(`first ${n + 10}`)))
  const shipOnce = () => new AuditShipper(control, auditFile(path), createLog('silent')).stop()
  await shipOnce()
  const firsts = Array.from({ length: 40 }, (_, n) => `first ${n + 10}`)
  await eventually(async () => assert.deepEqual(await subjects(path), firsts))
  await rename(path, `${path}.1`)
  await note('second')
  await eventually(async () => assert.deepEqual(await subjects(path), ['second']))
  assert.deepEqual(await subjects(`${path}.1`), firsts)
  await rm(path)
  await mkdir(path)
  await control.query(
    `insert into cartage.audit (actor, action, subject, at) values ('test', 'key.created', 'third', now() - interval '2 minutes')`,
  )
  await shipOnce()
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1`)).status, 200)
  const warned = (await doctor(service.services.installation, service.services.config)).find(
    ({ name }) => name === 'audit file',
  )
  assert.equal(warned?.status, 'warn')
  await rm(path, { recursive: true })
  await eventually(async () => assert.deepEqual(await subjects(path), ['third']))
})

test('a process killed between a write and its mark writes the record again; none is lost', async (t) => {
  const path = join(await newFolder(t), 'audit.ndjson')
  const installation = await newInstallation(t)
  const connectionString = withDatabase(installation.keys.adminUrl, installation.config.namespace)
  const control = (text: string) => runSql({ connectionString }, text)
  const env = { CARTAGE_AUDIT_FILE: path, CARTAGE_WORKER: 'off' }
  const first = await startProcess(t, installation, ['serve'], env)
  await control(
    `create function cartage.wait() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return null; end $$;
     create trigger wait before delete on cartage.audit_outbox for each statement execute function cartage.wait();
     insert into cartage.audit (actor, action, subject) values ('test', 'key.created', 'k')`,
  )
  const marks = `pg_stat_activity where datname = current_database() and query like 'delete from cartage.audit_outbox%'`
  await eventually(async () => assert.equal((await control(`select from ${marks}`)).rowCount, 1))
  const written = async () => (await linesOf(path)).map(({ id }) => id as number)
  const before = await written()
  assert.ok(before.length > 0)
  await first.kill()
  await control(`select pg_terminate_backend(pid) from ${marks}`)
  await control('drop trigger wait on cartage.audit_outbox')
  await startProcess(t, installation, ['serve'], env)
  await eventually(async () => {
    const { rows } = await control('select from cartage.audit_outbox')
    assert.equal(rows.length, 0)
  }, 45_000)
  const { rows } = await control('select id::float8 as id from cartage.audit order by audit.id')
  const after = await written()
  assert.deepEqual(
    [...new Set(after)].toSorted((one, other) => one - other),
    rows.map(({ id }) => id),
  )
  // The records without a mark.
  assert.ok(before.some((id) => after.filter((each) => each === id).length === 2))
})

test('a disk that hangs blocks no connection to the control database', async (t) => {
  const path = join(await newFolder(t), 'audit.ndjson')
  await writeFile(path, '')
  // Opening a file under a lease waits until its holder gives it back.
  const holder = await startPerl(
    t,
    `$SIG{IO} = sub { print "wanted\\n" }; open(F, "+<", $ARGV[0]) or die; fcntl(F, 1024, 1) or die "lease: $!";
     print "ready\\n"; sleep 1 while 1`,
    path,
  )
  const { service, user } = await setup(t, { isIsolated: true, config: { auditFile: path } })
  const { control } = service.services.databases
  await recordAudit(control, { actor: 'test', action: 'key.created', subject: 'k' })
  await eventually(() => assert.match(holder.said(), /wanted/))
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1`)).status, 200)
  const { rows } = await control.query(
    `select query from pg_stat_activity where datname = current_database() and state ~ 'idle in transaction'`,
  )
  assert.deepEqual(rows, [])
  await eventually(() => assert.equal(control.idleCount, control.totalCount))
  holder.child.kill('SIGKILL')
  await eventually(async () => {
    const subjects = (await linesOf(path))
      .filter(({ actor }) => actor === 'test')
      .map(({ subject }) => subject)
    assert.deepEqual(subjects, ['k'])
  })
})

test('records are sent to a syslog server as RFC 5424 messages, by UDP and by TCP', async (t) => {
  const datagrams: string[] = []
  const udp = createSocket('udp4').on('message', (message) => datagrams.push(message.toString()))
  await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve))
  t.after(() => udp.close())
  const auditSyslogAddress = `udp://127.0.0.1:${udp.address().port}`
  const bundle = await setup(t, { isIsolated: true, config: { auditSyslog: auditSyslogAddress } })
  await note(bundle, 'small', { text: 'line\nend' })
  await note(bundle, 'large', { text: 'x'.repeat(20_000) })
  const records = () => datagrams.map(parseMessage).filter(({ record }) => record.actor === 'test')
  await eventually(() => assert.equal(records().length, 2))
  const [small, large] = records()
  assert.deepEqual([small!.priority, small!.id, small!.record.subject], ['86', 'key.created', 'small'])
  assert.equal(small!.time, small!.record.at)
  assert.deepEqual(small!.record.details, { text: 'line\nend' })
  assert.deepEqual([large!.record.subject, large!.record.details.cut], ['large', true])

  const received: Buffer[] = []
  const server = createServer((socket) => void buffer(socket).then((all) => received.push(all)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const { control } = bundle.service.services.databases
  const { rows } = await control.query(
    'select id::float8 as id, * from cartage.audit order by audit.id limit 2',
  )
  await auditSyslog(`tcp://127.0.0.1:${port}`).send(rows)
  const frames = [...received[0]!.toString().matchAll(/(\d+) (<86>1 .*?\})(?=\d+ <|$)/g)]
  assert.deepEqual(
    frames.map(([, length, message]) => Number(length) - Buffer.byteLength(message!)),
    [0, 0],
  )
})

test("records are sent to the machine's syslog; without one they wait, and the doctor reports it", async (t) => {
  const path = join(await newFolder(t), 'log')
  const bundle = await setup(t, { isIsolated: true, config: { auditSyslog: `unix://${path}` } })
  const { control } = bundle.service.services.databases
  await control.query(
    `insert into cartage.audit (actor, action, subject, at) values ('test', 'key.created', 'k', now() - interval '2 minutes')`,
  )
  const { installation, config } = bundle.service.services
  const check = (await doctor(installation, config)).find(({ name }) => name === 'audit syslog')
  assert.equal(check?.status, 'warn', check?.advice)
  const listener = await startPerl(
    t,
    `use IO::Socket::UNIX; use Socket; my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die;
     print "ready\\n"; while (1) { $s->recv(my $b, 65536); print "$b\\n" }`,
    path,
  )
  await eventually(() =>
    assert.match(listener.said(), /^<86>.* cartage\[\d+\]: \{.*"actor":"test".*"subject":"k"/m),
  )
})

test('an invalid syslog address is refused and named', () => {
  for (const address of ['localhost:514', 'http://localhost', 'udp://', 'unix://relative', 'udp://a:b'])
    assert.throws(
      () => readConfig({ CARTAGE_AUDIT_SYSLOG: address }),
      /CARTAGE_AUDIT_SYSLOG must be/,
      address,
    )
  for (const address of ['', 'udp://logs', 'tcp://[::1]:6514', 'unix:///dev/log'])
    assert.equal(readConfig({ CARTAGE_AUDIT_SYSLOG: address }).auditSyslog, address)
})

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-audit-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  // A service started by root writes as another user.
  await chmod(folder, 0o777)
  return folder
}

async function linesOf(path: string) {
  const text = await readFile(path, 'utf8').catch(() => '')
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line))
}

const note = ({ service }: Setup, subject: string, details: Record<string, unknown>) =>
  recordAudit(service.services.databases.control, { actor: 'test', action: 'key.created', subject, details })

function parseMessage(message: string) {
  const [, priority, time, id, json] = /^<(\d+)>1 (\S+) \S+ cartage \d+ (\S+) - (\{.*\})$/.exec(message) ?? []
  assert.ok(json, message)
  return { priority, time, id, record: JSON.parse(json) }
}

/** A program that says when it is ready. */
async function startPerl(
  t: TestContext,
  script: string,
  argument: string,
): Promise<Readonly<{ child: ChildProcess; said: () => string }>> {
  const child = spawn('perl', ['-e', `$| = 1; ${script}`, argument], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  await eventually(() => assert.match(said, /ready/))
  return { child, said: () => said }
}
