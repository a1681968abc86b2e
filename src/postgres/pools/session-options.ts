/**
 * Start-up options of a tenant's connection. They beat anything the tenant set with ALTER ROLE, and they are what
 * DISCARD ALL returns to; so everything that we rely on stands here.
 */
export function sessionOptions(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries({ ...pinned, ...settings })
    .map(([name, value]) => `-c ${name}=${escapeOption(String(value))}`)
    .join(' ')
}

const pinned = {
  role: 'none',
  client_encoding: 'UTF8',
  DateStyle: 'ISO,MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  client_min_messages: 'notice',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  row_security: 'on',
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  // Lets the backend of a vanished process notice and die within a second.
  client_connection_check_interval: 1000,
} as const

/** In start-up options a backslash protects blanks and backslashes. */
function escapeOption(value: string): string {
  return value.replace(/[\\\s]/g, (char) => `\\${char}`)
}
