import pg from 'pg'

/** One statement of the administrator in the control database. Fails while its server is down. */
export type AdminSql = (text: string, values?: unknown[]) => Promise<pg.QueryResult>

/** One statement on its own connection, directly to PostgreSQL. Fails while the server is down or stopped. */
export async function runSql(
  url: string,
  database: string,
  text: string,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const address = new URL(url)
  address.pathname = `/${database}`
  const client = new pg.Client({
    connectionString: address.href,
    connectionTimeoutMillis: 5_000,
    query_timeout: 15_000,
    application_name: 'chaos',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query(text, values)
  } finally {
    void client.end().catch(() => undefined)
  }
}
