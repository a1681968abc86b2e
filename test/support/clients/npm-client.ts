import { execFile } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * An npm client as its users install it, or why it is missing. Call it in tests, not when their file is loaded: files
 * share a process, whose services end when the tests known so far have ended.
 */
export type NpmClient = Readonly<
  { folder: string; missing?: undefined } | { folder?: undefined; missing: string }
>

/** Only the package, as a web page loads it: its bundle includes its dependencies. */
export function unpackClient(name: string, version: string): Promise<NpmClient> {
  return inFolder(async (folder) => {
    const packed = ['pack', '--json', '--prefer-offline', '--pack-destination', folder, `${name}@${version}`]
    const { stdout } = await run('npm', packed, quietly)
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    const target = join(folder, 'package')
    await mkdir(target)
    await run('tar', [
      '--extract',
      '--file',
      join(folder, filename),
      '--directory',
      target,
      '--strip-components=1',
    ])
    return target
  })
}

/** With all its dependencies. */
export function installClient(name: string, version: string): Promise<NpmClient> {
  return inFolder(async (folder) => {
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
    await run('npm', ['install', ...options, '--prefix', folder, `${name}@${version}`], quietly)
    return join(folder, 'node_modules', name)
  })
}

async function inFolder(fill: (folder: string) => Promise<string>): Promise<NpmClient> {
  // Removed with the folder of the whole run.
  const folder = await mkdtemp(join(tmpdir(), 'cartage-client-'))
  try {
    return { folder: await fill(folder) }
  } catch (error) {
    const isLate = (error as { killed?: boolean }).killed === true
    if (!isLate && !/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.test(String(error))) throw error
    return { missing: 'neither the cache of npm nor the registry has it' }
  }
}

const quietly = {
  timeout: 120_000,
  env: {
    ...process.env,
    NODE_EXTRA_CA_CERTS: process.env.CARTAGE_TEST_CA_CERTS ?? process.env.NODE_EXTRA_CA_CERTS,
    npm_config_loglevel: 'error',
  },
}
