import { type AdminClient, type AdminOptions, adminClient } from './admin-client.ts'
import { browserTransport } from './http/browser-transport.ts'
import { type Client, type ClientOptions, userClient } from './user-client.ts'

export * from './exports.ts'

/** The client in browsers. */
export const createClient = (options: ClientOptions): Client => userClient(options, browserTransport)

export const createAdminClient = (options: AdminOptions): AdminClient =>
  adminClient(options, browserTransport)
