import type { FastifyRequest } from 'fastify'
import { readCredential } from '../auth/credential.ts'
import { type Identification, identify } from '../auth/identify.ts'
import type { Services } from './services.ts'

/** Who is asking for the account named in the path. */
export function identifyCaller(
  { directory }: Pick<Services, 'directory'>,
  request: FastifyRequest,
): Promise<Identification> {
  const { name } = request.params as { name: string }
  const credential = readCredential({
    authorization: request.headers.authorization,
    query: request.query as Record<string, unknown>,
    body: request.body,
  })
  return identify(directory, name, credential)
}
