import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'

/** What a process must be told besides its configuration. */
export type ServiceKeys = Readonly<{ adminUrl: string; secret: string; adminToken: string }>

/** The secrets that the configuration gives, or those kept in the data directory beside an embedded cluster. */
export async function loadOrCreateKeys(
  config: Config,
  embeddedUrl: string | undefined,
): Promise<ServiceKeys> {
  if (embeddedUrl === undefined) {
    return { adminUrl: config.databaseUrl, secret: config.secret, adminToken: config.adminToken }
  }
  return {
    adminUrl: embeddedUrl,
    secret: config.secret || (await kept(config.dataDir, 'secret')),
    adminToken: config.adminToken || (await kept(config.dataDir, 'admin-token')),
  }
}

/** The secret to change to: the configured one, or one that is kept beside the old until `adoptNewSecret`. */
export async function newSecretOf(config: Config): Promise<string> {
  return config.newSecret || (await kept(config.dataDir, nextSecret))
}

/** From here on the data directory knows the new secret alone. A configured one is the operator's to change. */
export async function adoptNewSecret(config: Config): Promise<void> {
  if (!config.newSecret) await rename(join(config.dataDir, nextSecret), join(config.dataDir, 'secret'))
}

const nextSecret = 'secret.next'

/** A random text kept in a file that only its owner may read, made at the first time. */
async function kept(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name)
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  if (known?.trim()) return known.trim()
  const fresh = randomBytes(32).toString('base64url')
  await mkdir(dataDir, { recursive: true })
  await writeFile(`${path}.new`, `${fresh}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return fresh
}
