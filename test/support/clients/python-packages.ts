import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A Python that has the packages, or why there is none. */
export type Python = Readonly<
  { program: string; folder: string; missing?: undefined } | { missing: string; program?: undefined }
>

/** Packages without dependencies. They come from pip's cache or registry. */
const versions: Readonly<Record<string, string>> = { duckdb: '1.5.6', pyarrow: '25.0.1' }
/** The Python in PATH, and the distribution's, which has its own packages. */
const programs = ['python3', '/usr/bin/python3']

const installed = new Map<string, Promise<string | undefined>>()

export async function pythonWith(packages: readonly string[]): Promise<Python> {
  const own = packages.filter((name) => versions[name] !== undefined)
  const others = packages.filter((name) => versions[name] === undefined)
  for (const program of programs) {
    if (!(await canImport(program, others))) continue
    const folders = await Promise.all(own.map((name) => install(program, name)))
    const absent = own.filter((_, at) => folders[at] === undefined)
    if (absent.length > 0)
      return { missing: `neither the cache of pip nor the registry has ${absent.join()}` }
    return { program, folder: folders.join(':') }
  }
  return { missing: `no Python here has ${others.join(' and ')}` }
}

const canImport = (program: string, names: readonly string[]) =>
  names.length === 0
    ? Promise.resolve(true)
    : run(program, ['-c', `import ${names.join(', ')}`]).then(
        () => true,
        () => false,
      )

/** The folder with the package. It is removed with the folder of the whole run. */
function install(program: string, name: string): Promise<string | undefined> {
  const found = installed.get(`${program} ${name}`)
  if (found) return found
  const coming = (async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cartage-python-'))
    const options = ['--quiet', '--no-deps', '--no-compile', '--retries', '0', '--target', folder]
    const args = ['-m', 'pip', 'install', ...options, `${name}==${versions[name]}`]
    return run(program, args, { timeout: 120_000 }).then(
      () => folder,
      () => undefined,
    )
  })()
  installed.set(`${program} ${name}`, coming)
  return coming
}
