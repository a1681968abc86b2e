import { execFile } from 'node:child_process'
import { access, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type PostgresBinaries = {
  readonly directory: string
  readonly major: number
}

export const oldestSupportedMajor = 14

const run = promisify(execFile)

/** Every PostgreSQL server on this machine that is new enough and has PostGIS, newest first. */
export async function findBinaries(): Promise<readonly PostgresBinaries[]> {
  const directories = new Set([...(await debianDirectories()), ...(await configuredDirectory())])
  const found = await Promise.all([...directories].map(inspect))
  return found.filter((binaries) => binaries !== undefined).sort((a, b) => b.major - a.major)
}

async function debianDirectories(): Promise<string[]> {
  const root = '/usr/lib/postgresql'
  const versions = await readdir(root).catch(() => [])
  return versions.map((version) => join(root, version, 'bin'))
}

async function configuredDirectory(): Promise<string[]> {
  const directory = await output('pg_config', '--bindir')
  return directory === undefined ? [] : [await realpath(directory).catch(() => directory)]
}

async function inspect(directory: string): Promise<PostgresBinaries | undefined> {
  const version = await output(join(directory, 'postgres'), '--version')
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(version ?? '')?.[1])
  if (!(major >= oldestSupportedMajor)) return undefined
  if (!(await exists(join(directory, 'initdb')))) return undefined
  return (await hasPostgis(directory, major)) ? { directory, major } : undefined
}

async function hasPostgis(directory: string, major: number): Promise<boolean> {
  // pg_config may be missing beside the server: Debian has packaged it apart at times.
  const configured = await output(join(directory, 'pg_config'), '--sharedir')
  const shares =
    configured === undefined
      ? [
          `/usr/share/postgresql/${major}`,
          join(dirname(directory), 'share/postgresql'),
          join(dirname(directory), 'share'),
        ]
      : [configured]
  const present = await Promise.all(shares.map((share) => exists(join(share, 'extension/postgis.control'))))
  return present.includes(true)
}

async function output(command: string, argument: string): Promise<string | undefined> {
  return run(command, [argument]).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
