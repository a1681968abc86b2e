import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { adminLogin, firstHostId, hostFromUrl } from '../hosts.ts'
import type { Address } from '../primary.ts'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import { emptyEnvironment } from './initialise.ts'

/**
 * Passes a physical backup of the running cluster to `write`, as a tar of the files and of the WAL that makes them
 * consistent. Executes nothing in the cluster, so tenants cannot interfere. Throws unless the backup is complete.
 */
export async function takeBaseBackup(
  url: string,
  binaries: PostgresBinaries,
  write: (tar: Readable) => Promise<void>,
): Promise<void> {
  const host = hostFromUrl(firstHostId, 'local', url)
  const server = { ...(await host.primary.find()), ...adminLogin(host) }
  const keeper = new ScramClient({ ...server, connectionTimeoutMillis: 5_000 })
  keeper.on('error', () => undefined)
  await keeper.connect()
  try {
    // The slot keeps the WAL until the last file is read; it is dropped with this session.
    await keeper.query('select pg_catalog.pg_create_physical_replication_slot($1, true, true)', [
      `cartage_backup_${randomBytes(4).toString('hex')}`,
    ])
    await runBaseBackup(environmentOf(url, server), binaries, write)
  } finally {
    await keeper.end().catch(() => undefined)
  }
}

async function runBaseBackup(
  server: Readonly<Record<string, string>>,
  binaries: PostgresBinaries,
  write: (tar: Readable) => Promise<void>,
): Promise<void> {
  const options = ['--pgdata=-', '--format=tar', '--wal-method=fetch', '--checkpoint=fast', '--no-password']
  const child = spawn(join(binaries.directory, 'pg_basebackup'), options, {
    // Not as arguments, which every user of the machine can see.
    env: { ...emptyEnvironment, ...server },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  // Awaited below; a missing program must not end this process before that.
  ended.catch(() => undefined)
  const words = text(child.stderr)
  try {
    await write(child.stdout)
  } catch (error) {
    child.kill()
    await ended
    throw error
  }
  const [code] = await ended
  if (code !== 0) throw new ClusterError(`pg_basebackup failed: ${(await words).trim()}`)
}

/** A server as environment variables for PostgreSQL's programs. */
function environmentOf(
  url: string,
  { host, port, user, password }: ServerLogin,
): Readonly<Record<string, string>> {
  const [, sslMode] = /[?&]sslmode=([a-z-]+)/.exec(url) ?? []
  return {
    PGHOST: host!,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    ...(sslMode && { PGSSLMODE: sslMode }),
  }
}

type ServerLogin = Address & Readonly<{ user: string; password: string }>
