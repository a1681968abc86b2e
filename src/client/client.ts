import { type AdminClient, type AdminOptions, adminClient } from './admin-client.ts'
import { nodeTransport } from './http/node-transport.ts'
import { type Client, type ClientOptions, userClient } from './user-client.ts'

export * from './exports.ts'

/** The client in Node. */
export const createClient = (options: ClientOptions): Client =>
  userClient(options, nodeTransport(options.baseUrl))

export const createAdminClient = (options: AdminOptions): AdminClient =>
  adminClient(options, nodeTransport(options.baseUrl))
