import { totalmem } from 'node:os'

export type Settings = Readonly<Record<string, string>>

/** The text of cartage.conf: the settings that differ from PostgreSQL's defaults. */
export function settingsFile(overrides: Settings): string {
  const lines = Object.entries({ ...defaultSettings(), ...overrides }).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`,
  )
  return [
    '# Rewritten at every start. Put your own settings below the include in postgresql.conf.',
    ...lines,
    '',
  ].join('\n')
}

function defaultSettings(): Settings {
  const sharedMegabytes = Math.max(32, Math.min(256, Math.floor(totalmem() / 8 / 1024 ** 2)))
  return {
    max_connections: '200',
    // Tenants may use up all other connections; these are for the service itself.
    superuser_reserved_connections: '10',
    shared_buffers: `${sharedMegabytes}MB`,
    // Dropping or copying an account touches hundreds of objects in one transaction.
    max_locks_per_transaction: '256',
    max_wal_size: '2GB',
    fsync: 'on',
    synchronous_commit: 'on',
    password_encryption: 'scram-sha-256',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Compiling a plan costs more than almost any statement of a request.
    jit: 'off',
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] %q%u@%d ',
    ...(process.platform === 'linux' ? linuxSettings : {}),
  }
}

const linuxSettings: Settings = {
  // A computing backend notices that its client has gone.
  client_connection_check_interval: '2s',
  // After a crash: one call instead of opening every file of every tenant.
  recovery_init_sync_method: 'syncfs',
}
