import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import { isWebAddress } from '../../../config/config-variables.ts'
import { FailedError, NoKeyError, UsageError } from '../../command-error.ts'
import { readSecretFile } from '../../named-file.ts'
import { type OptionValues, textOf } from '../../option-values.ts'
import { shellWord } from '../../printable.ts'
import type { UserCall } from '../command.ts'
import {
  type FolderSettings,
  type Profile,
  type Profiles,
  readFolderSettings,
  readProfiles,
} from './profiles.ts'

/** The service, the user and the key of a call. */
export type Access = Readonly<{ url: string; user: string; key: string; profile?: string }>

export const usualUrl = 'http://127.0.0.1:8080'

/** Each value comes from the first of: option, environment, `.cartage.json` of the folder, profile. */
export async function findAccess(call: UserCall): Promise<Access> {
  const { url, user, profile, name } = await findPlace(call)
  if (!isWebAddress(url)) throw new UsageError(`--url must begin with http:// or https://, not '${url}'`)
  const key = await findKey(call, url, user, profile)
  if (!user || !key)
    throw new NoKeyError('no key: run cartage login, or set CARTAGE_USER and CARTAGE_API_KEY')
  return { url, user, key, ...(name && { profile: name }) }
}

export type ServiceAddress = Readonly<{
  url: string
  user: string | undefined
  name: string | undefined
  profile: Profile | undefined
}>

/** findAccess without the key. */
export async function findPlace({ values, config }: UserCall): Promise<ServiceAddress> {
  const [known, folder] = await Promise.all([readProfiles(config), readFolderSettings()])
  const flags = { url: textOf(values, 'url'), user: textOf(values, 'user') }
  const isChosen = textOf(values, 'profile') !== undefined
  const name = profileName(values, config.profile, folder, known)
  const profile = name === undefined ? undefined : known.profiles[name]
  if (name !== undefined && !profile)
    throw new UsageError(
      `there is no profile '${name}': cartage profiles lists them, cartage login creates one`,
    )
  // --profile counts like an option.
  const sources = isChosen ? [flags, profile] : [flags, config, folder, profile]
  const first = (what: 'url' | 'user') => sources.map((source) => source?.[what]).find(Boolean)
  const url = first('url') ?? usualUrl
  if (url === folder.url && !flags.url && !config.url) refuseUnknownService(url, known)
  return { url, user: first('user'), name, profile }
}

function profileName(values: OptionValues, ofEnvironment: string, folder: FolderSettings, known: Profiles) {
  const chosen = textOf(values, 'profile') || ofEnvironment || folder.profile
  const fits = ({ url, user }: Profile) => url === folder.url && (!folder.user || user === folder.user)
  const ofFolder = Object.entries(known.profiles).find(([, profile]) => fits(profile))?.[0]
  const current = known.current && known.profiles[known.current] ? known.current : undefined
  return chosen || ofFolder || current
}

/** A folder may come from someone else: its `.cartage.json` must not send a key to a service where the user never logged in. */
function refuseUnknownService(url: string, { profiles }: Profiles): void {
  if (Object.values(profiles).some((profile) => profile.url === url)) return
  throw new NoKeyError(
    `.cartage.json names ${url}, where you have not logged in: cartage login --url ${shellWord(url)}`,
  )
}

async function findKey(
  { values, config, terminal }: UserCall,
  url: string,
  user: string | undefined,
  profile: Profile | undefined,
) {
  const { key, 'key-file': file } = values as Record<string, string | undefined>
  if (key !== undefined && file !== undefined) throw new UsageError('give --key or --key-file, not both')
  if (file !== undefined) return readSecretFile(file, 'key')
  if (key !== undefined) {
    terminal.say(
      'warning: others on this machine can see a key that is given with --key: use cartage login, CARTAGE_API_KEY or --key-file',
    )
    return key
  }
  if (config.key && values.profile === undefined) return config.key
  // The key of a profile is sent only to the service and user of that profile.
  if (!profile || profile.url !== url || profile.user !== user) return undefined
  return profile.key_command ? printedKey(profile.key_command) : profile.key
}

async function printedKey(command: string): Promise<string> {
  const { stdout } = await promisify(exec)(command).catch((error: { stderr?: string; code?: number }) => {
    throw new FailedError(
      `the key_command of the profile failed with exit code ${error.code}: ${error.stderr?.trim() ?? ''}`,
    )
  })
  const key = stdout.trim()
  if (key === '' || key.includes('\n'))
    throw new NoKeyError('the key_command of the profile must print only the key')
  return key
}
