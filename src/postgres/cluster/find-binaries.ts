import { execFile } from 'node:child_process'
import { access, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type PostgresBinaries = {
  readonly directory: string
  readonly major: number
}

/** In older versions, a role may make others members of itself, and views cannot read with the rights of the caller. */
export const oldestSupportedMajor = 15

const run = promisify(execFile)

/**
 * Every PostgreSQL on this machine that is new enough and has PostGIS, newest first. If Debian has the wanted version,
 * no other is searched: its file names suffice, while running programs would take a tenth of a start.
 */
export async function findBinaries(wanted?: number): Promise<readonly PostgresBinaries[]> {
  const ofDebian = await debianBinaries()
  if (ofDebian.some(({ major }) => major === wanted)) return ofDebian
  const found = [...ofDebian, ...(await configuredBinaries(ofDebian))]
  return found.sort((a, b) => b.major - a.major)
}

async function debianBinaries(): Promise<PostgresBinaries[]> {
  const root = '/usr/lib/postgresql'
  const versions = (await readdir(root).catch(() => [])).map(Number)
  const supported = versions.filter((major) => major >= oldestSupportedMajor)
  const all = supported.map((major) => ({ directory: join(root, String(major), 'bin'), major }))
  const areComplete = await Promise.all(all.map(isComplete))
  return all.filter((_, place) => areComplete[place])
}

async function isComplete({ directory, major }: PostgresBinaries): Promise<boolean> {
  const files = [join(directory, 'postgres'), join(directory, 'initdb'), postgisIn(debianShare(major))]
  const present = await Promise.all(files.map(exists))
  return !present.includes(false)
}

/** The installation of pg_config, if it is not known yet. */
async function configuredBinaries(known: readonly PostgresBinaries[]): Promise<PostgresBinaries[]> {
  const named = await output('pg_config', '--bindir')
  if (named === undefined) return []
  const directory = await realpath(named).catch(() => named)
  if (known.some((each) => each.directory === directory)) return []
  const binaries = await inspect(directory)
  return binaries ? [binaries] : []
}

async function inspect(directory: string): Promise<PostgresBinaries | undefined> {
  const version = await output(join(directory, 'postgres'), '--version')
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(version ?? '')?.[1])
  if (!(major >= oldestSupportedMajor)) return undefined
  if (!(await exists(join(directory, 'initdb')))) return undefined
  return (await hasPostgis(directory, major)) ? { directory, major } : undefined
}

async function hasPostgis(directory: string, major: number): Promise<boolean> {
  // pg_config may be missing beside the server: Debian has packaged it separately at times.
  const configured = await output(join(directory, 'pg_config'), '--sharedir')
  const shares =
    configured === undefined
      ? [debianShare(major), join(dirname(directory), 'share/postgresql'), join(dirname(directory), 'share')]
      : [configured]
  const present = await Promise.all(shares.map((share) => exists(postgisIn(share))))
  return present.includes(true)
}

const debianShare = (major: number) => `/usr/share/postgresql/${major}`
const postgisIn = (share: string) => join(share, 'extension/postgis.control')

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
