import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { ClientConfig } from 'pg'
import type { Host } from '../hosts.ts'

export type ProgramLogin = Readonly<{ host: Host; database: string; role: string; password: string }>

/**
 * The environment in which PostgreSQL's own programs log in: never as arguments, which others on the machine can see.
 * `folder` keeps what libpq reads from files.
 */
export async function loginEnvironment(
  { host, database, role, password }: ProgramLogin,
  folder: string,
): Promise<NodeJS.ProcessEnv> {
  const { host: server, port, ssl } = await host.primary.find()
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    PGHOST: server,
    PGPORT: String(port),
    PGDATABASE: database,
    PGUSER: role,
    PGPASSWORD: password,
    PGCONNECT_TIMEOUT: '10',
    PGAPPNAME: 'cartage move',
    PGPASSFILE: '/dev/null',
    ...(await encryption(ssl, folder, host.id)),
  }
}

/** As `pg` understands the same address: without `ssl` plain, with it checked unless told otherwise. */
async function encryption(
  ssl: ClientConfig['ssl'],
  folder: string,
  hostId: number,
): Promise<NodeJS.ProcessEnv> {
  if (!ssl) return { PGSSLMODE: 'disable' }
  const options = ssl === true ? {} : ssl
  const file = async (name: string, content: unknown) => {
    const path = join(folder, `${hostId}-${name}`)
    await writeFile(path, String(content), { mode: 0o600 })
    return path
  }
  const own =
    options.cert && options.key
      ? { PGSSLCERT: await file('cert.pem', options.cert), PGSSLKEY: await file('key.pem', options.key) }
      : {}
  if (options.rejectUnauthorized === false) return { PGSSLMODE: 'require', ...own }
  const trusted = options.ca ?? rootCertificates.join('\n')
  // With a function of its own, `pg` accepts any name: sslmode=verify-ca.
  const PGSSLMODE = options.checkServerIdentity ? 'verify-ca' : 'verify-full'
  return { PGSSLMODE, PGSSLROOTCERT: await file('ca.pem', trusted), ...own }
}
