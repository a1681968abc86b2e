import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newInstallation } from '../../support/service/installation.ts'
import { startCartage } from '../../support/service/processes.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const deploy = (file: string) => readFile(join(root, 'deploy', file), 'utf8')

test('the files that deploy/Dockerfile copies into the image are enough to serve', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'image-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const dockerfile = await deploy('Dockerfile')
  const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+) /gm)].map(([, path]) => path!)
  assert.ok(copied.includes('node_modules'))
  for (const path of copied) {
    // The test of the installed package covers what npm prune leaves of it.
    if (path === 'node_modules') await symlink(join(root, path), join(folder, path))
    else await cp(join(root, path), join(folder, path), { recursive: true })
  }
  const [, entry] = dockerfile.match(/^ENTRYPOINT \["node", "(.+)"\]$/m)!
  const { config, keys } = await newInstallation(t)
  const env = {
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_NAMESPACE: config.namespace,
    CARTAGE_CONNECTIONS_PER_HOST: '6',
  }
  const { url, stop } = await startCartage(t, ['serve'], env, [join(folder, entry!)])
  for (const path of ['/health/ready', '/console/', '/openapi.json', '/cli/cartage'])
    assert.equal((await fetch(url + path)).status, 200, path)
  assert.equal(await stop(), 0)
})

const noSystemd = await run('systemd-analyze', ['--version']).then(
  () => undefined,
  () => 'systemd-analyze is not installed',
)

test(`systemd accepts deploy/cartage.service${noSystemd ? ` [NOT RUN: ${noSystemd}]` : ''}`, async (t) => {
  if (noSystemd) return t.skip(noSystemd)
  const folder = await mkdtemp(join(tmpdir(), 'unit-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const unit = join(folder, 'cartage.service')
  // Where docs/install.md puts a link to it.
  const installed = (await deploy('cartage.service')).replace('/usr/local/bin/', `${root}bin/`)
  assert.match(installed, new RegExp(`^ExecStart=${root}bin/cartage serve$`, 'm'))
  await writeFile(unit, installed)
  const { stderr } = await run('systemd-analyze', ['verify', unit])
  assert.equal(stderr, '')
})
