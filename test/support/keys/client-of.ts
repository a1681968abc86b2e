import type { TestContext } from 'node:test'
import { type Client, type ClientOptions, createClient } from '../../../src/client/client.ts'
import type { Setup } from '../service/setup.ts'

/** The client of the test's user. */
export function clientOf(
  t: TestContext,
  { url, user }: Pick<Setup, 'url' | 'user'>,
  options: Partial<ClientOptions> = {},
): Client {
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken, ...options })
  t.after(() => client.close())
  return client
}
