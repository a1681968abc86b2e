import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { parse } from 'pg-connection-string'
import { ScramClient } from '../wire/scram-client.ts'
import { ClusterError } from './cluster-error.ts'
import type { PostgresBinaries } from './find-binaries.ts'
import { emptyEnvironment, superuser } from './initialise.ts'

/**
 * Passes a physical backup of the running cluster to `write`, as a tar of the files and of the WAL that makes them
 * consistent. Executes nothing in the cluster, so tenants cannot interfere. Throws unless the backup is complete.
 */
export async function takeBaseBackup(
  url: string,
  binaries: PostgresBinaries,
  write: (tar: Readable) => Promise<void>,
): Promise<void> {
  const keeper = new ScramClient({ connectionString: url, connectionTimeoutMillis: 5_000 })
  keeper.on('error', () => undefined)
  await keeper.connect()
  try {
    // The slot keeps the WAL until the last file is read; it is dropped with this session.
    await keeper.query('select pg_catalog.pg_create_physical_replication_slot($1, true, true)', [
      `cartage_backup_${randomBytes(4).toString('hex')}`,
    ])
    await runBaseBackup(url, binaries, write)
  } finally {
    await keeper.end().catch(() => undefined)
  }
}

async function runBaseBackup(
  url: string,
  binaries: PostgresBinaries,
  write: (tar: Readable) => Promise<void>,
): Promise<void> {
  const options = ['--pgdata=-', '--format=tar', '--wal-method=fetch', '--checkpoint=fast', '--no-password']
  const child = spawn(join(binaries.directory, 'pg_basebackup'), options, {
    // Not as arguments, which every user of the machine can see.
    env: { ...emptyEnvironment, ...addressOf(url) },
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

/** The server of a URL as environment variables for PostgreSQL's programs. */
function addressOf(url: string): Readonly<Record<string, string>> {
  const { host, port, user, password } = parse(url)
  const [, sslMode] = /[?&]sslmode=([a-z-]+)/.exec(url) ?? []
  return {
    PGHOST: host || '127.0.0.1',
    PGPORT: port || '5432',
    PGUSER: user ?? superuser,
    PGPASSWORD: password ?? '',
    ...(sslMode && { PGSSLMODE: sslMode }),
  }
}
