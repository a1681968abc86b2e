import { CartageError } from '../client/cartage-error.ts'
import { type Client, createClient } from '../client/client.ts'
import { readConfig } from '../config.ts'
import { isWebAddress } from '../config-variables.ts'
import { errors } from '../errors.ts'
import { type OptionValues, UsageError } from './command.ts'
import { readSecretFile } from './secret-input.ts'
import { talk } from './talk.ts'

export const connection = {
  url: { type: 'string' },
  user: { type: 'string' },
  key: { type: 'string' },
  'key-file': { type: 'string' },
} as const
export const connectionUsage = '[--url URL] [--user USER] [--key-file FILE | --key TOKEN]'

/** What a user of the service does, over HTTP like everybody else. */
export async function withClient<T>(options: OptionValues, work: (client: Client) => Promise<T>): Promise<T> {
  const config = readConfig()
  const username = (options.user as string | undefined) ?? config.clientUser
  const token = (await givenToken(options)) ?? config.clientKey
  if (!username || !token)
    throw new UsageError('--user and --key-file (or CARTAGE_USER and CARTAGE_API_KEY) are required')
  const baseUrl = (options.url as string | undefined) ?? config.clientUrl
  if (!isWebAddress(baseUrl))
    throw new UsageError(`--url must begin with http:// or https://, not '${baseUrl}'`)
  const client = createClient({ baseUrl, username, token })
  try {
    return await work(client)
  } catch (error) {
    throw isUnreachable(error) ? errors.serviceUnreachable(baseUrl, error.cause) : error
  } finally {
    client.close()
  }
}

async function givenToken(options: OptionValues): Promise<string | undefined> {
  const { key, 'key-file': file } = options as Record<string, string | undefined>
  if (key !== undefined && file !== undefined) throw new UsageError('--key or --key-file, not both')
  if (file !== undefined) return readSecretFile(file, 'key')
  if (key !== undefined)
    talk('others on this machine can see a key that is given with --key: use CARTAGE_API_KEY or --key-file')
  return key
}

/** Refused, cut, unknown host, wrong certificate. */
function isUnreachable(error: unknown): error is CartageError {
  return error instanceof CartageError && error.code === 'service-unreachable'
}
