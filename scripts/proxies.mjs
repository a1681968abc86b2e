import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isThere } from './apt.mjs'
import { root, runStep, say } from './run.mjs'

/** Where the tests look for programs missing on the machine. */
const proxyFolder = join(root, 'node_modules/.cache/proxies')

/**
 * The programs configured in deploy/: proxies and Prometheus. Their packages are unpacked, not installed: that would
 * start them as services. If that fails, their tests report that they did not run.
 */
export async function provideProxies() {
  const missing = [
    ['nginx', 'usr/sbin/nginx', '-v'],
    ['caddy', 'usr/bin/caddy', 'version'],
    ['prometheus', 'usr/bin/promtool', '--version'],
  ].filter(([name, path, ask]) => !isThere(name, ask) && !existsSync(join(proxyFolder, path)))
  if (missing.length === 0 || !isThere('apt-get')) return
  const names = missing.map(([name]) => name)
  say(`unpacking the packages ${names.join(' and ')} for the tests`)
  try {
    mkdirSync(proxyFolder, { recursive: true })
    await runStep('apt-get', ['download', '-qq', ...names], { cwd: proxyFolder })
    for (const file of readdirSync(proxyFolder).filter((name) => name.endsWith('.deb')))
      await runStep('dpkg', ['-x', join(proxyFolder, file), proxyFolder])
  } catch (error) {
    if (error.exitCode > 128) throw error
    say(`they could not be unpacked (${error.message}): their tests will not run`)
  }
}
