import { text } from 'node:stream/consumers'
import { createClient } from '../../../client/client.ts'
import { isWebAddress } from '../../../config/config-variables.ts'
import { formatBytes } from '../../../contract/text/format.ts'
import { ask, askSecretly } from '../../ask.ts'
import { NoKeyError, UsageError } from '../../command-error.ts'
import { textOf } from '../../option-values.ts'
import { shellWord } from '../../printable.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { printList, printRecord } from '../output/list.ts'
import { withService } from '../service.ts'
import { usualUrl } from './access.ts'
import { type Profiles, profilesPath, readFolderSettings, readProfiles, writeProfiles } from './profiles.ts'

const login: UserCommand = {
  name: 'login',
  summary: 'check a key and save it in a profile',
  options: { 'key-stdin': { type: 'boolean', help: 'read the key from stdin instead of asking' } },
  details: [
    'The profile is named after the user, or as --profile says. It becomes the current one.',
    'Instead of "key" a profile may have a "key_command" that prints it: "pass show cartage/demo".',
  ],
  run: async (call) => {
    const { terminal, config, values } = call
    const known = await readProfiles(config)
    const account = await askAccount(call, known)
    const client = createClient({ baseUrl: account.url, username: account.user, token: account.key })
    const user = await client.me().finally(() => client.close())
    if (user.username !== account.user)
      throw new NoKeyError(`this key belongs to ${user.username}, not to ${account.user}`)
    const name = textOf(values, 'profile') ?? freeName(known, account)
    const profiles = { ...known.profiles, [name]: account }
    await writeProfiles(config, { current: name, profiles })
    terminal.say(
      `logged in as ${account.user} at ${account.url}: profile ${name}, saved in ${profilesPath(config)}`,
    )
  },
}

async function askAccount(call: UserCall, known: Profiles) {
  const { terminal, values, config } = call
  const folder = await readFolderSettings()
  const given = textOf(values, 'url') || config.url
  const url = (given || (await askService(terminal, folder.url, known))).replace(/\/+$/, '')
  if (!isWebAddress(url)) throw new UsageError(`--url must begin with http:// or https://, not '${url}'`)
  const user = textOf(values, 'user') || config.user || folder.user || (await ask(terminal, 'User', '--user'))
  const key = values['key-stdin']
    ? (await text(process.stdin)).trim()
    : await askSecretly(terminal, 'Key (not shown)', '--key-stdin')
  if (!key) throw new NoKeyError('no key was given')
  return { url, user, key }
}

/** The address of `.cartage.json` is used if a profile has it already, or after the person has confirmed it. */
async function askService(
  terminal: UserCall['terminal'],
  ofFolder: string | undefined,
  { profiles }: Profiles,
) {
  if (ofFolder === undefined) return ask(terminal, 'Service', '--url', usualUrl)
  if (Object.values(profiles).some(({ url }) => url === ofFolder)) return ofFolder
  return ask(terminal, 'Service, from .cartage.json', `--url ${shellWord(ofFolder)}`, ofFolder)
}

/** The name of the user, with the host if another account has that name. */
function freeName({ profiles }: Profiles, { url, user }: { url: string; user: string }): string {
  const taken = profiles[user]
  const isFree = !taken || (taken.url === url && taken.user === user)
  return isFree ? user : `${user}@${new URL(url).host}`
}

const logout: UserCommand = {
  name: 'logout',
  summary: 'delete a profile; without a name, the current one',
  arguments: [{ name: 'PROFILE', kind: 'profile', isOptional: true }],
  run: async ({ args, config, terminal }) => {
    const known = await readProfiles(config)
    const name = args[0] ?? known.current
    if (name === undefined || !known.profiles[name]) throw unknownProfile(name)
    const { [name]: _gone, ...profiles } = known.profiles
    const { current, ...rest } = known
    await writeProfiles(config, { ...rest, ...(current !== name && current && { current }), profiles })
    terminal.say(`deleted the profile ${name}`)
  },
}

const profiles: UserCommand = {
  name: 'profiles',
  summary: 'list the profiles',
  run: async (call) => {
    const { current, profiles } = await readProfiles(call.config)
    const rows = Object.entries(profiles).map(([name, { url, user, key_command }]) => ({
      name,
      user,
      url,
      key: key_command ? 'from a command' : 'saved',
      current: name === current,
    }))
    await printList(call, rows, 'No profiles yet: cartage login creates one')
  },
}

const use: UserCommand = {
  name: 'use',
  summary: 'choose the current profile',
  arguments: [{ name: 'PROFILE', kind: 'profile' }],
  run: async ({ args: [name], config, terminal }) => {
    const known = await readProfiles(config)
    if (!known.profiles[name!]) throw unknownProfile(name)
    await writeProfiles(config, { ...known, current: name! })
    terminal.say(`using the profile ${name}`)
  },
}

const unknownProfile = (name: string | undefined) =>
  new UsageError(
    name === undefined
      ? 'there is no current profile: cartage login creates one'
      : `there is no profile '${name}': cartage profiles lists them`,
  )

const whoami: UserCommand = {
  name: 'whoami',
  summary: 'show the account, the kind of key and the quota',
  run: (call) =>
    withService(call, async ({ client, url, profile }) => {
      const [me, isMaster] = await Promise.all([
        client.me(),
        client.keys.list({ per_page: 1 }).then(
          () => true,
          () => false,
        ),
      ])
      const { quota_in_bytes: quota, db_size_in_bytes: used } = me.user_data
      const document = {
        user: me.username,
        ...(me.organization && { organization: me.organization.name }),
        url,
        ...(profile && { profile }),
        key: isMaster ? 'master' : 'regular',
        used: formatBytes(Number(used)),
        quota: Number(quota) === 0 ? 'unlimited' : formatBytes(Number(quota)),
      }
      await printRecord(call, document)
    }),
}

export const profileCommands: readonly UserCommand[] = [login, logout, profiles, use, whoami]
