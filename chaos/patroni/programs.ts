import { execFile } from 'node:child_process'
import { access, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The programs of Debian's packages, and the environment in which they find their libraries. */
export type Programs = Readonly<{
  etcd: string
  haproxy: string
  patroni: string
  env: NodeJS.ProcessEnv
}>

/**
 * Downloads the packages missing on this machine and unpacks them into the folder: nothing is installed, so no package
 * starts a daemon. Installed programs are used as they are.
 */
export async function providePrograms(folder: string): Promise<Programs> {
  const root = join(folder, 'packages')
  const archives = join(folder, 'archives')
  await mkdir(join(archives, 'partial'), { recursive: true })
  await mkdir(root)
  await download(archives)
  const packages = (await readdir(archives)).filter((name) => name.endsWith('.deb'))
  for (const name of packages) await run('dpkg', ['-x', join(archives, name), root])
  return {
    etcd: await find(root, 'usr/bin/etcd'),
    haproxy: await find(root, 'usr/sbin/haproxy'),
    patroni: await find(root, 'usr/bin/patroni'),
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      LC_ALL: 'C.UTF-8',
      PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
      LD_LIBRARY_PATH: (await libraryFolders(root)).join(':'),
    },
  }
}

const wanted = ['patroni', 'etcd-server', 'haproxy']

/** With all missing dependencies. */
async function download(archives: string): Promise<void> {
  const options = ['-o', `Dir::Cache::archives=${archives}`, '-o', 'Debug::NoLocking=1']
  const args = ['install', '--yes', '--download-only', '--no-install-recommends', ...options, ...wanted]
  await run('apt-get', args, { timeout: 120_000 }).catch((cause: { stderr?: string }) => {
    const words = cause.stderr?.trim() || String(cause)
    throw new Error(`apt-get cannot download ${wanted.join(', ')}; run apt-get update first: ${words}`, {
      cause,
    })
  })
}

/** In the folder, or in the system. */
async function find(root: string, path: string): Promise<string> {
  const own = join(root, path)
  return access(own).then(
    () => own,
    () => `/${path}`,
  )
}

async function libraryFolders(root: string): Promise<string[]> {
  const libraries = join(root, 'usr/lib')
  const names = await readdir(libraries)
  return names.filter((name) => name.includes('linux-gnu')).map((name) => join(libraries, name))
}

const run = promisify(execFile)
