import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { UserConfig } from '../../../config/config.ts'
import { makeFolder } from '../../../files/make-folder.ts'
import { UsageError } from '../../command-error.ts'
import { draftName } from '../../named-file.ts'
import { tell } from '../../terminal.ts'

/** An account of a service. `key_command` prints the key, such as `pass show cartage/demo`. */
export type Profile = Readonly<{ url: string; user: string; key?: string; key_command?: string }>
export type Profiles = Readonly<{ current?: string; profiles: Readonly<Record<string, Profile>> }>

export const profilesPath = ({ configFolder }: UserConfig) => join(configFolder, 'config.json')

/** The saved profiles. A file that other users can read is refused. */
export async function readProfiles(config: UserConfig): Promise<Profiles> {
  const path = profilesPath(config)
  const text = await readFile(path, 'utf8').catch(nothingIfMissing)
  if (text === undefined) return { profiles: {} }
  const { mode } = await stat(path)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw new UsageError(`${path} holds keys, and others can read it: chmod 600 '${path}'`)
  const { current, profiles } = parseObject(text, path)
  const saved = typeof profiles === 'object' && profiles !== null ? (profiles as Profiles['profiles']) : {}
  for (const [name, { url, user }] of Object.entries(saved)) {
    if (typeof url !== 'string' || typeof user !== 'string')
      throw new UsageError(`${path}: the profile '${name}' needs url and user`)
  }
  return { ...(typeof current === 'string' && { current }), profiles: saved }
}

/** Replaces the file in one step. Other users can read it at no moment. */
export async function writeProfiles(config: UserConfig, profiles: Profiles): Promise<void> {
  const path = profilesPath(config)
  await makeFolder(dirname(path), 0o700)
  const part = draftName(path)
  await writeFile(part, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await rename(part, path)
}

/** `.cartage.json` of the current folder. It has no key. */
export type FolderSettings = Readonly<{ url?: string; user?: string; profile?: string }>

/** A file that belongs to another user is not read: it would decide where commands and keys are sent. */
export async function readFolderSettings(): Promise<FolderSettings> {
  const file = await stat('.cartage.json').catch(nothingIfMissing)
  if (file === undefined) return {}
  if (process.getuid && ![process.getuid(), 0].includes(file.uid)) {
    tell('warning: .cartage.json belongs to another user, so it is not read')
    return {}
  }
  const text = await readFile('.cartage.json', 'utf8')
  const found = parseObject(text, '.cartage.json')
  for (const [name, value] of Object.entries(found)) {
    if (name.startsWith('key'))
      throw new UsageError('.cartage.json must not hold a key: folders are shared. Use cartage login')
    if (!['url', 'user', 'profile'].includes(name) || typeof value !== 'string')
      throw new UsageError(`.cartage.json may have url, user and profile, each a string; not '${name}'`)
  }
  return found as FolderSettings
}

function nothingIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function parseObject(text: string, path: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found === 'object' && found !== null) return found as Record<string, unknown>
  } catch {}
  throw new UsageError(`${path} is not a JSON object`)
}
