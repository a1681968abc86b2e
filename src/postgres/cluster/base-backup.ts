import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { PostgresBinaries } from '../find-binaries.ts'
import { WaryClient } from '../wary-client.ts'
import { ClusterError } from './cluster-error.ts'
import { emptyEnvironment } from './initialise.ts'

/**
 * Hands a physical backup of the whole running cluster to `write`, as a tar: files and the WAL that makes them
 * consistent. Nothing of what is in the cluster is executed, so tenants have no part in it. Throws unless it is whole.
 */
export async function takeBaseBackup(
  url: string,
  binaries: PostgresBinaries,
  write: (tar: Readable) => Promise<void>,
): Promise<void> {
  const keeper = new WaryClient({ connectionString: url, connectionTimeoutMillis: 5_000 })
  keeper.on('error', () => undefined)
  await keeper.connect()
  try {
    // The server keeps its WAL until the last file is through; the slot goes with this session.
    await keeper.query(
      `select pg_catalog.pg_create_physical_replication_slot('cartage_backup_' || pg_catalog.pg_backend_pid(), true, true)`,
    )
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
  const { address, password } = withoutPassword(url)
  const options = [
    '--pgdata=-',
    '--format=tar',
    '--wal-method=fetch',
    '--checkpoint=fast',
    `--dbname=${address}`,
  ]
  const child = spawn(join(binaries.directory, 'pg_basebackup'), [...options, '--no-password'], {
    // Arguments are there for everybody to see.
    env: { ...emptyEnvironment, PGPASSWORD: password },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  const words = text(child.stderr)
  try {
    await write(child.stdout)
  } catch (error) {
    child.kill()
    await ended
    throw error
  }
  const [code] = await ended
  if (code !== 0) throw new ClusterError(`PostgreSQL gave no backup: ${(await words).trim()}`)
}

function withoutPassword(url: string): { address: string; password: string } {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ''
  return { address: address.href, password }
}
