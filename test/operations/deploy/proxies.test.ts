import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { WebSocket } from 'ws'
import { freePort } from '../../support/http/free-port.ts'
import { eventually, setup, type TestUser } from '../../support/service/setup.ts'

/** Runs the proxies with the configurations of deploy/: only names, ports and certificates are replaced. */
const run = promisify(execFile)
const unpacked = fileURLToPath(new URL('../../../node_modules/.cache/proxies', import.meta.url))
/** Programs of the machine come before those unpacked by scripts/proxies.mjs. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:${unpacked}/usr/sbin:${unpacked}/usr/bin` }
const deploy = (file: string) => readFile(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8')

type Site = Readonly<{ folder: string; port: number; service: string; certificate: string; key: string }>
type Proxy = Readonly<{
  name: string
  version: readonly [string, string]
  start: (site: Site) => Promise<ChildProcess>
}>

const proxies: readonly Proxy[] = [
  { name: 'nginx', version: ['nginx', '-v'], start: startNginx },
  { name: 'Caddy', version: ['caddy', 'version'], start: startCaddy },
]

for (const proxy of proxies) {
  const missing = await run(proxy.version[0], [proxy.version[1]], { env }).then(
    () => undefined,
    () => `${proxy.name} is not installed`,
  )
  const title = (sentence: string) => (missing ? `${sentence} [NOT RUN: ${missing}]` : sentence)

  test(title(`behind ${proxy.name} as deploy/ configures it bodies flow both ways, over TLS`), async (t) => {
    if (missing) return t.skip(missing)
    const { user, url, admin } = await setup(t)
    const ask = await startProxy(t, proxy, url)
    await user.sql('create table lines (line text)')
    const copies = async (count: number) => {
      const found = await admin(
        `select from pg_stat_activity where datname = $1 and query like 'COPY %' and state = 'active'`,
        [user.account.database],
      )
      assert.equal(found.rowCount, count)
    }
    const upload = begin(ask, pathOf(user, 'sql/copyfrom', 'COPY lines FROM STDIN'), 'POST')
    upload.sending.write('one\n'.repeat(1_000))
    await eventually(() => copies(1))
    upload.sending.end('two\n')
    assert.match(await text(await upload.answer), /"total_rows":1001\b/)

    // Its second row comes a minute after the first. A client that disconnects ends it.
    const rows = `select repeat('x', 100000), pg_sleep(60 * n) from generate_series(0, 1) n`
    const download = begin(ask, pathOf(user, 'sql/copyto', `COPY (${rows}) TO STDOUT`))
    download.sending.end()
    const answer = await download.answer
    await once(answer, 'readable')
    await copies(1)
    answer.destroy()
    await eventually(() => copies(0))
  })

  test(
    title(`behind ${proxy.name} operator addresses are closed, and the client's address is known`),
    async (t) => {
      if (missing) return t.skip(missing)
      const { user, url } = await setup(t)
      const ask = await startProxy(t, proxy, url)
      const statusOf = async (path: string) => {
        const { sending, answer } = begin(ask, path)
        sending.end()
        const { statusCode } = (await answer).resume()
        return statusCode
      }
      assert.equal(await statusOf(pathOf(user, 'sql', 'select 1')), 200)
      for (const path of ['/metrics', '/admin/v1/users']) assert.equal(await statusOf(path), 404)
      assert.equal(await statusOf(pathOf(user, 'sql', `select '${'x'.repeat(7_000)}'`)), 200)
    },
  )

  test(title(`behind ${proxy.name} a session is open for longer than one request`), async (t) => {
    if (missing) return t.skip(missing)
    const { user, url } = await setup(t)
    const { host, port } = (await startProxy(t, proxy, url))('/', 'GET')
    const address = `wss://${host}:${port}/user/${user.username}/api/v4/session`
    const socket = new WebSocket(address, {
      agent: new Agent({ rejectUnauthorized: false, servername: 'localhost' }),
      headers: { host: 'localhost' },
    })
    t.after(() => socket.terminate())
    await once(socket, 'open')
    const frames = on(socket, 'message')
    const until = async (type: string) => {
      for (;;) {
        const [data] = (await frames.next()).value
        const frame = JSON.parse(String(data)) as { type: string; transaction?: string }
        if (frame.type === type) return frame
      }
    }
    socket.send(JSON.stringify({ type: 'open', token: user.masterToken }))
    await until('opened')
    socket.send(JSON.stringify({ type: 'query', id: 1, q: 'begin' }))
    assert.equal((await until('done')).transaction, 'open')
    socket.send(JSON.stringify({ type: 'query', id: 2, q: 'rollback' }))
    assert.equal((await until('done')).transaction, 'none')
  })
}

type Ask = (path: string, method: string) => RequestOptions

async function startProxy(t: TestContext, proxy: Proxy, url: string): Promise<Ask> {
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const [certificate, key] = [join(folder, 'cartage.pem'), join(folder, 'cartage.key')]
  const names = ['-keyout', key, '-out', certificate, '-subj', '/CN=localhost']
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names])
  const child = await proxy.start({ folder, port, service: new URL(url).host, certificate, key })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const ask: Ask = (path, method) => ({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { host: 'localhost' },
    rejectUnauthorized: false,
  })
  await eventually(async () => {
    const { sending, answer } = begin(ask, '/health/live')
    sending.end()
    assert.equal((await answer).resume().statusCode, 200)
  })
  return ask
}

function begin(ask: Ask, path: string, method = 'GET') {
  const sending = request(ask(path, method))
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sending.on('response', resolve).on('error', reject)
  })
  return { sending, answer }
}

function pathOf({ username, masterToken }: TestUser, endpoint: string, q: string): string {
  return `/user/${username}/api/v2/${endpoint}?${new URLSearchParams({ q, api_key: masterToken })}`
}

async function startNginx({ folder, port, service, certificate, key }: Site): Promise<ChildProcess> {
  const site = (await deploy('nginx.conf'))
    .replace('127.0.0.1:8080', service)
    .replace('listen 443 ', `listen 127.0.0.1:${port} `)
    .replace('/etc/ssl/certs/cartage.pem', certificate)
    .replace('/etc/ssl/private/cartage.key', key)
  await writeFile(join(folder, 'site.conf'), site)
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = `daemon off; pid ${folder}/pid; error_log stderr; ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      access_log off;
      ${places.map((place) => `${place}_temp_path ${folder}/${place};`).join('\n')}
      include ${folder}/site.conf;
    }`
  await writeFile(join(folder, 'nginx.conf'), main)
  return spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-e', 'stderr'], { stdio: 'ignore', env })
}

async function startCaddy({ folder, port, service, certificate, key }: Site): Promise<ChildProcess> {
  const site = (await deploy('Caddyfile'))
    .replace('127.0.0.1:8080', service)
    .replace('sql.example.com {', `https://localhost:${port} {\n\ttls ${certificate} ${key}`)
  await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
  const own = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  return spawn('caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
    stdio: 'ignore',
    env: { ...env, ...own },
  })
}
