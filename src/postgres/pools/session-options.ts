/**
 * Start-up options of a tenant's connection. They override ALTER ROLE, and DISCARD ALL returns to them, so every
 * setting that we rely on is here.
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
  idle_session_timeout: 0,
  // Lets the backend of a lost client notice and end within a second.
  client_connection_check_interval: 1000,
  // Settings of extensions: until the library is loaded, a role's own value is not visible, so they are set at the start.
  'plpgsql.check_asserts': 'on',
  'plpgsql.print_strict_params': 'off',
  'plpgsql.extra_warnings': 'none',
  'plpgsql.extra_errors': 'none',
  'pg_trgm.similarity_threshold': 0.3,
  'pg_trgm.word_similarity_threshold': 0.6,
  'pg_trgm.strict_word_similarity_threshold': 0.5,
} as const

/** In start-up options, blanks and backslashes are escaped with a backslash. */
function escapeOption(value: string): string {
  return value.replace(/[\\\s]/g, (char) => `\\${char}`)
}
