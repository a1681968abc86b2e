import { randomBytes } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { makeFolder } from '../../files/make-folder.ts'

/** The secrets that a process needs in addition to its configuration. */
export type InstallationSecrets = Readonly<{
  adminUrl: string
  secret: string
  /** The new secret of a rotation that may have been cut off. The control database tells which of the two is valid. */
  nextSecret?: string | undefined
  adminToken: string
}>

/** The secrets from the configuration, or those stored in the data directory of an embedded cluster. */
export async function loadOrCreateSecrets(
  config: Config,
  embeddedUrl: string | undefined,
): Promise<InstallationSecrets> {
  if (embeddedUrl === undefined) {
    const { databaseUrl, secret, newSecret, adminToken } = config
    return { adminUrl: databaseUrl, secret, nextSecret: newSecret || undefined, adminToken }
  }
  return {
    adminUrl: embeddedUrl,
    secret: config.secret || (await kept(config.dataDir, secretFile)),
    nextSecret: config.secret
      ? config.newSecret || undefined
      : await readKept(config.dataDir, nextSecretFile),
    adminToken: config.adminToken || (await kept(config.dataDir, adminTokenFile)),
  }
}

/** Stores the new secret of a rotation beside the old one, for the next start in case the rotation is cut off. */
export async function stageSecret(config: Config, fresh: string): Promise<void> {
  if (!isConfigured(config)) await keep(config.dataDir, nextSecretFile, fresh, rename)
}

/** Keeps the new secret or drops it, as the control database says. A configured secret is not touched. */
export async function settleSecret(config: Config, isRotated: boolean): Promise<void> {
  if (isConfigured(config)) return
  const next = join(config.dataDir, nextSecretFile)
  try {
    if (!isRotated) return await rm(next, { force: true })
    await rename(next, join(config.dataDir, secretFile))
    await syncFolder(config.dataDir)
  } catch (error) {
    // A service that dropped root leaves this to root's next command: with both files, every start knows which one is
    // valid.
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
}

/** Stores the secrets of a restored installation in its data directory. */
export async function keepSecrets(
  { dataDir }: Config,
  { secret, adminToken }: Readonly<{ secret: string; adminToken: string }>,
): Promise<void> {
  await keep(dataDir, secretFile, secret, rename)
  if (adminToken) await keep(dataDir, adminTokenFile, adminToken, rename)
}

const isConfigured = ({ databaseUrl, secret }: Config) => Boolean(databaseUrl || secret)
const secretFile = 'secret'
const adminTokenFile = 'admin-token'
const nextSecretFile = 'secret.next'
export const newSecret = () => randomBytes(32).toString('base64url')

/** A random text in a file that only its owner may read. Created once, even if several processes start together. */
async function kept(dataDir: string, name: string): Promise<string> {
  const known = await readKept(dataDir, name)
  if (known) return known
  await keep(dataDir, name, newSecret(), link)
  return kept(dataDir, name)
}

async function readKept(dataDir: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  return text?.trim() || undefined
}

/** The file is on disk when this returns (fsync). */
async function keep(dataDir: string, name: string, text: string, put: typeof rename): Promise<void> {
  await makeFolder(dataDir)
  const draft = join(dataDir, `${name}.${process.pid}`)
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await put(draft, join(dataDir, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(draft, { force: true })
  await syncFolder(dataDir)
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
